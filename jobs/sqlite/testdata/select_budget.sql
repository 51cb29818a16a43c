SELECT n FROM budget;
