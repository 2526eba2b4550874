/** Imports the module that MODULE names. */
await import(process.env.MODULE)
