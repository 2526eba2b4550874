/** A page as a shop renders it on the server: 150 products with a picture, a price, stars and a form, by React. */
import { createElement as h } from 'react'
import { renderToString } from 'react-dom/server'

const PRODUCTS = Array.from({ length: 150 }, (_, id) => ({
  id,
  name: `Product ${id} & "friends"`,
  price: 1999 + id * 10,
  stars: id % 5,
  tags: ['new', 'sale', 'green'].slice(0, 1 + (id % 3)),
}))

const price = new Intl.NumberFormat('en', { style: 'currency', currency: 'EUR' })

function Stars({ count }) {
  const stars = Array.from({ length: 5 }, (_, i) =>
    h('span', { key: i, className: i < count ? 'star on' : 'star' }, '★'),
  )
  return h('div', { className: 'stars', 'aria-label': `${count} of 5` }, stars)
}

function Card({ product }) {
  const { id, name, stars, tags } = product
  return h(
    'article',
    { className: 'card', 'data-id': id },
    h('img', { src: `/pictures/${id}.webp`, alt: name, loading: 'lazy', width: 320, height: 240 }),
    h('h2', null, h('a', { href: `/products/${id}` }, name)),
    h(Stars, { count: stars }),
    h('p', { className: 'price' }, price.format(product.price / 100)),
    h(
      'ul',
      null,
      tags.map(tag => h('li', { key: tag }, tag)),
    ),
    h(
      'form',
      { method: 'post', action: '/cart' },
      h('input', { type: 'hidden', name: 'id', value: id }),
      h('button', { type: 'submit' }, 'Add'),
    ),
  )
}

function Page() {
  return h(
    'html',
    { lang: 'en' },
    h('head', null, h('title', null, 'Shop'), h('link', { rel: 'stylesheet', href: '/shop.css' })),
    h(
      'body',
      null,
      h(
        'main',
        null,
        PRODUCTS.map(product => h(Card, { key: product.id, product })),
      ),
    ),
  )
}

export function renderPage() {
  return `<!doctype html>${renderToString(h(Page))}`
}
