command sqluice up
