export const load = () => ({ rows: Array.from({ length: 300 }, (_, row) => ({ row, score: (row * 7919) % 1009 })) })
