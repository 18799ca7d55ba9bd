/* The plain side of the comparison of messages: messages.c. */

/* After MPI_Init, once. */
void plain_start(void);
/* How many rounds OSU makes: ping-pongs, or windows. */
int plain_least(const char *name, int size);
/* Seconds (latency) or bytes/s of so many rounds, on rank 0. */
double plain_turn(const char *name, int size, int rounds);
