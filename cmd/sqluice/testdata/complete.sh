# complete.sh PROGRAM WORD...: prints what bash completes the last word of a command line by.
# Of the package bash-completion, which may not be installed, scripts of cobra need this function alone.
_get_comp_words_by_ref() {
    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
}
__ltrim_colon_completions() { :; }
compopt() { :; } # it fails outside of a completion
source <("$1" completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
COMPREPLY=()
complete -p sqluice >/dev/null # the script has bound the function to the command's name
__start_sqluice
printf '%s\n' "${COMPREPLY[@]}"
