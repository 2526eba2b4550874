/** Takes a core for itself, until it is ended. */
for (;;);
