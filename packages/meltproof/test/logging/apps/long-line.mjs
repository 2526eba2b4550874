/** One line of 10 MB between two short ones. */
console.log('before')
console.log('x'.repeat(10_000_000))
setTimeout(() => console.log('after'), 100)
