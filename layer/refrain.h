/* What a program can tell Refrain, if it likes: when to be at work, and what the parts of its run are called.
 *
 * Nothing is linked for it: where the program runs without Refrain all of this does nothing. (So it does in an
 * executable that is not position-independent, unless it is made with -fPIE -no-pie -Wl,-z,dynamic-undefined-weak.)
 * Other languages look the functions up by their names: in Python, ctypes.CDLL(None).refrain_start().
 *
 * Any thread may call any of it at any time, but in a signal handler, also before the first call of a GPU's API.
 * Nothing here fails. */
#ifndef REFRAIN_H
#define REFRAIN_H

#ifdef __cplusplus
extern "C" {
#endif
/* NOLINTBEGIN(modernize-redundant-void-arg, cppcoreguidelines-macro-usage): it says something in C */

/* There in a process that runs under Refrain, and nowhere else. Call the macros of the same names. */
#define REFRAIN_WEAK_ __attribute__((weak))
REFRAIN_WEAK_ extern void refrain_start(void);
REFRAIN_WEAK_ extern void refrain_stop(void);
REFRAIN_WEAK_ extern void refrain_flush(void);
REFRAIN_WEAK_ extern void refrain_region_begin(const char* name);
REFRAIN_WEAK_ extern void refrain_region_end(void);
#undef REFRAIN_WEAK_

/* Whether this process runs under Refrain: 1 or 0. */
#define refrain_present() ((refrain_start) != 0 ? 1 : 0)

/* Refrain goes on: what is submitted from now on is looked at, captured, replayed, as the settings say. Needed only
 * after refrain_stop(), or where the setting `start` is off. */
#define refrain_start() ((refrain_start) != 0 ? (refrain_start)() : (void)0)

/* What is held is submitted, and from now on every call goes straight to the driver. */
#define refrain_stop() ((refrain_stop) != 0 ? (refrain_stop)() : (void)0)

/* What is held of any thread's work is submitted now: before another process or a device that Refrain does not see
 * waits for it. */
#define refrain_flush() ((refrain_flush) != 0 ? (refrain_flush)() : (void)0)

/* The calling thread enters a region of this name, inside the one that it is in: report and capture tell what was
 * submitted there. Use few different names: "step", not "step 17". The name is copied (63 bytes of it). */
#define refrain_region_begin(name) ((refrain_region_begin) != 0 ? (refrain_region_begin)(name) : (void)0)

/* The calling thread leaves the region that it entered last. */
#define refrain_region_end() ((refrain_region_end) != 0 ? (refrain_region_end)() : (void)0)

/* NOLINTEND(modernize-redundant-void-arg, cppcoreguidelines-macro-usage) */
#ifdef __cplusplus
}
#endif

#endif /* REFRAIN_H */
