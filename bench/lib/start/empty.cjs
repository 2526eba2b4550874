/** A process that does nothing. Also shows the cost of an empty `--import` or `--require`. */
