// The database: kept in memory, and generated with the same content at every start.
const words = 'load shed queue limit permit stall budget retry drain lane gate goodput'.split(' ')
const word = n => words[(n * 7919) % words.length]

module.exports = () => ({
  posts: Array.from({ length: 400 }, (_, n) => ({
    id: n + 1,
    title: `${word(n)} ${word(n + 3)} ${n}`,
    authorId: (n % 20) + 1,
    body: Array.from({ length: 30 }, (_, at) => word(n + at)).join(' '),
  })),
  authors: Array.from({ length: 20 }, (_, n) => ({ id: n + 1, name: `Author ${n + 1}` })),
  profile: { name: 'stranger' },
})
