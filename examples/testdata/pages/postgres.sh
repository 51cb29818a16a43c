program resize.sh 'cat'
