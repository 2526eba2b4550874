/** A process that does nothing; also what `--import` and `--require` of nothing take. */
