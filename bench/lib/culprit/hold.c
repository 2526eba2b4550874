/* A native addon with one function, hold(ms), that keeps its thread busy. It needs none of Node's headers. */
#include <stddef.h>
#include <time.h>
typedef void *napi_env, *napi_value, *napi_info;
typedef napi_value (*napi_callback)(napi_env, napi_info);
extern int napi_get_cb_info(napi_env, napi_info, size_t *, napi_value *, napi_value *, void **);
extern int napi_get_value_double(napi_env, napi_value, double *);
extern int napi_create_double(napi_env, double, napi_value *);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_set_named_property(napi_env, napi_value, const char *, napi_value);

static double now_ms(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e3 + at.tv_nsec / 1e6;
}

static napi_value hold(napi_env env, napi_info info) {
  size_t count = 1;
  napi_value argument, result;
  double ms = 0;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  napi_get_value_double(env, argument, &ms);
  double until = now_ms() + ms;
  while (now_ms() < until);
  napi_create_double(env, ms, &result);
  return result;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function;
  napi_create_function(env, "hold", 4, hold, NULL, &function);
  napi_set_named_property(env, exports, "hold", function);
  return exports;
}
