#include <cstdlib>
#include <stdexcept>
extern "C" __attribute__((noinline)) void *in_plugin(void) { return malloc(2000); }
namespace { struct Static { void *kept; Static() : kept(in_plugin()) { try { throw std::runtime_error("early"); } catch (std::exception &) { } } } one; }
