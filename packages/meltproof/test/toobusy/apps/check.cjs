/** Prints whether `toobusy` is the function and sees a stall. Nothing here keeps the process alive afterwards. */
module.exports = function check(toobusy) {
  toobusy.smoothingFactor(1)
  toobusy.interval(20)
  setTimeout(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
    // Not before the check that came late because of the stall.
    setTimeout(() => console.log(typeof toobusy, toobusy.started(), seen), 100)
  }, 100)
  let seen = false
  toobusy.onLag(lag => {
    seen ||= lag >= 300
  }, 50)
}
