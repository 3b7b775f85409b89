/* The C side of the interface. VERSION, NAME and SIGNATURES let plugin.py make faulty plugins of it. */
#include <sialx/plugin.h>

#ifndef VERSION
#define VERSION SIALX_PLUGIN_VERSION
#endif
#ifndef NAME
#define NAME "c_twice"
#endif
#ifndef SIGNATURES
#define SIGNATURES "u"
#endif

static int32_t twice(const sialx_host* host, sialx_argument* arguments, int32_t count) {
  if (count != 1) {
    host->fail(host, "takes one argument", "");
    return 1;
  }
  if (arguments[0].size == 0) return 7;
  for (int64_t i = 0; i < arguments[0].size; ++i) arguments[0].data[i] *= 2.0;
  return 0;
}

static const sialx_instruction rows[] = {{NAME, SIGNATURES, "x := 2 x", twice}};
static const sialx_plugin plugin = {VERSION, 1, "plain_c", rows};

const sialx_plugin* sialx_plugin_entry(void) { return &plugin; }
