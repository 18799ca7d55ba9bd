"""Lines written here are read back by a second, plain reader of each launcher, and must give the plan again."""
