program resize.sh 'cat'
mkdir backup
