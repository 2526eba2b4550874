/** Occupies a core until the process is ended. */
for (;;);
