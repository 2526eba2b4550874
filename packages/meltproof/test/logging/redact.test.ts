/** Secrets in URLs are redacted, however they are written. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { redactTarget } from '../../src/logging/access-log/redact.ts'
import { percentDecoded, secretNames } from '../../src/logging/access-log/secret-names.ts'

const isSecret = secretNames([])

describe('the value of a parameter is secret if its name is', () => {
  for (const name of [
    'token',
    'Token',
    '%74oken',
    'accessToken',
    'access_token',
    'ACCESS-TOKEN',
    'refreshToken',
    'clientSecret',
    'auth_token',
    'csrfmiddlewaretoken',
    'id_token_hint',
    'session',
    'session_id',
    'sessionID',
    'JSESSIONID',
    'PHPSESSID',
    'connect.sid',
    'X-Amz-Signature',
    'x-api-key',
    'apiKey',
    'api.key',
    'key',
    'code',
    'code_verifier',
    'pass',
    'user_pass',
    'userPass',
    'userPASS',
    'passphrase',
    'password',
    'password2',
    'new_password_confirmation',
    'otp',
    'loginOtp',
    'csrf',
    '_csrf',
    'token[]',
    'token[0]',
    'token%5B%5D',
    'user[password]',
    'user[token][value]',
    'auth.token',
    'a[b][Client-Secret]',
    'to%6ben%',
  ]) {
    it(name, () => assert.ok(isSecret(name)))
  }
})

describe('the value of a parameter is not secret if its name is', () => {
  for (const name of [
    '',
    '%',
    '%zz',
    '[]',
    'tokens',
    'tokens_per_page',
    'max_tokens',
    'tokenizer',
    'token_type',
    'compass',
    'COMPASS',
    'bypass',
    'passage',
    'secretary',
    'author',
    'requires_auth',
    'zip_code',
    'countryCode',
    'encode',
    'keyword',
    'sort_key',
    'monkey',
    'keys',
    'sessions',
    'signature_version',
    'design',
    'page',
    'X-Amz-SignedHeaders',
    'account_sid',
  ]) {
    it(name, () => assert.ok(!isSecret(name)))
  }
})

describe('a name added to the secret ones', () => {
  const added = secretNames(['Phone-Number', 'user.mail', 'q1', '電話', '_'])
  for (const name of [
    'phone_number',
    'phoneNumber',
    'user[phone%2dnumber][]',
    'user[mail]',
    'q1',
    '%E9%9B%BB%E8%A9%B1',
  ]) {
    it(`matches ${name}`, () => assert.ok(added(name)))
  }
  it('does not match the end of another name, nor the name without its digit', () => {
    assert.deepEqual(['home_phone_number', 'q', 'q2', 'mail', '__'].map(added), [false, false, false, false, false])
  })
  it('may have no letters', () => assert.ok(added('_')))
})

describe('redaction in a URL', () => {
  for (const [url, shown] of [
    ['/a?x=1&token=abc&y=2', '/a?x=1&token=[redacted]&y=2'],
    ['/a?user[password]=abc', '/a?user[password]=[redacted]'],
    ['/a?token[]=S5&token[0]=S6', '/a?token[]=[redacted]&token[0]=[redacted]'],
    ['/a?%74oken=abc', '/a?%74oken=[redacted]'],
    ['/a?token', '/a?token'],
    ['/a?token=&x=1', '/a?token=[redacted]&x=1'],
    ['/a?%=3&code=x', '/a?%=3&code=[redacted]'],
    ['*', '*'],
    // Few parsers split at `;`, and a secret may contain one.
    ['/a?token=abc;def&x=1', '/a?token=[redacted]&x=1'],
    ['/a?x=1;password=abc', '/a?x=1;password=[redacted]'],
    ['/a?token=abc=&x=1', '/a?token=[redacted]&x=1'],
    ['/a#access_token=abc&x=1', '/a#access_token=[redacted]&x=1'],
    ['/a#b?access_token=abc', '/a#b?access_token=[redacted]'],
    // A user name and password in front of a host.
    ['http://me:pass@host/a?key=1', 'http://[redacted]@host/a?key=[redacted]'],
    ['//u:p@host/x', '//[redacted]@host/x'],
    ['////u:p@host/x', '////[redacted]@host/x'],
    ['http://u:p@ss@host', 'http://[redacted]@host'],
    ['http://u:p&q@host', 'http://[redacted]@host'],
    ['/proxy/http://u:p@host/', '/proxy/http://[redacted]@host/'],
    ['/a?next=https://u:p@host/&x=1', '/a?next=https://[redacted]@host/&x=1'],
    ['/a?next=//host&mail=me@x', '/a?next=//host&mail=me@x'],
    ['/mail/me@x?y=1', '/mail/me@x?y=1'],
    ['/a//me@x', '/a//me@x'],
    // URLs and queries as values.
    ['/a?next=/cb?code=abc&x=1', '/a?next=/cb?code=[redacted]&x=1'],
    ['/a?next=%2Fcb%3Ftoken%3Dabc&x=1', '/a?next=[redacted]&x=1'],
    ['/a?next=%2Fcb%3Fcode=abc', '/a?next=%2Fcb%3Fcode=[redacted]'],
    ['/a?q=token%3Dabc=', '/a?q=[redacted]'],
    ['/a?token%3Dabc%26token=1', '/a?[redacted]'],
    ['/a?user%5Bname%5D=me%26you', '/a?user%5Bname%5D=me%26you'],
    ['/a?x=1&next=%252Fcb%253Ftoken%253Dabc', '/a?x=1&next=[redacted]'],
    ['/a?q=token%3Dabc', '/a?q=[redacted]'],
    ['/a?q=x%3D1%26token%3Dabc', '/a?q=[redacted]'],
    ['/a?token%3Dabc&x', '/a?[redacted]&x'],
    ['/a?next=https%3A%2F%2Fu%3Ap%40host%2F', '/a?next=[redacted]'],
    ['/a?next=%2Fcb%3Fpage%3D2&mail=me%40x.com', '/a?next=%2Fcb%3Fpage%3D2&mail=me%40x.com'],
    ['/a?next=%2Fcb%3Ftoken%3D%zz&x=%', '/a?next=[redacted]&x=%'],
  ] as const) {
    it(`${url} becomes ${shown}`, () => assert.equal(redactTarget(url, isSecret), shown))
  }

  const names = fc.constantFrom('token', 'clientSecret', 'user[pass]', 'X-Amz-Signature', 'api_key[]', 'otp')
  const noise = fc.string({
    unit: fc.constantFrom('a', '%', '%3d', '%26', '=', '&', ';', '?', '/', '.', '[', '+', 'é'),
  })

  it('leaves no part of a secret, whatever surrounds it', () => {
    fc.assert(
      fc.property(noise, names, noise, fc.nat(3), fc.boolean(), (before, name, after, times, within) => {
        let pair = `${name}=S3CRET`
        for (let i = 0; i < times; i++) pair = encodeURIComponent(within ? `/x?${pair}` : pair)
        const shown = redactTarget(`/a?${before}&q=${pair}${after}`, isSecret)
        assert.ok(!shown.includes('S3CRET'), shown)
      }),
      { numRuns: 2000 },
    )
  })

  it('changes nothing where there is no secret', () => {
    fc.assert(
      fc.property(
        fc.webSegment(),
        fc.array(fc.tuple(fc.constantFrom('page', 'q', 'a[b]'), fc.nat())),
        (path, pairs) => {
          const url = `/${path}?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`
          assert.equal(redactTarget(url, isSecret), url)
        },
      ),
    )
  })

  it('never throws, and is idempotent', () => {
    fc.assert(
      fc.property(fc.oneof(noise, fc.string({ unit: 'binary' })), text => {
        const shown = redactTarget(`/?${text}`, isSecret)
        assert.equal(redactTarget(shown, isSecret), shown)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('lenient percent-decoding', () => {
  it('decodes what decodeURIComponent decodes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        assert.equal(percentDecoded(encodeURIComponent(text)), text)
      }),
    )
  })

  it('leaves invalid sequences as they are', () => assert.equal(percentDecoded('%zz%4%41%'), '%zz%4A%'))
})
