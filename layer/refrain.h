/* What a program can tell Refrain, if it likes: when to be at work, and what the parts of its run are called.
 *
 * Nothing is linked for it: where the program runs without Refrain all of this does nothing. (In an executable that is
 * not position-independent, link with -Wl,-z,dynamic-undefined-weak, or it never does anything.) Other languages look
 * the functions up by their names: in Python, ctypes.CDLL(None).refrain_start().
 *
 * Any thread may call any of it at any time, also before the first call of a GPU's API. Nothing here fails. */
#ifndef REFRAIN_H
#define REFRAIN_H

#ifdef __cplusplus
extern "C" {
#endif
/* NOLINTBEGIN(modernize-redundant-void-arg): it says something in C */

#define REFRAIN_FUNCTION_(name, parameters) extern void name##_ parameters __asm__(#name) __attribute__((weak))
REFRAIN_FUNCTION_(refrain_start, (void));
REFRAIN_FUNCTION_(refrain_stop, (void));
REFRAIN_FUNCTION_(refrain_flush, (void));
REFRAIN_FUNCTION_(refrain_region_begin, (const char*));
REFRAIN_FUNCTION_(refrain_region_end, (void));
#undef REFRAIN_FUNCTION_

/* Whether this process runs under Refrain. */
static inline int refrain_present(void) {
  return refrain_start_ ? 1 : 0;
}

/* Refrain goes on: what is submitted from now on is looked at, captured, replayed, as the settings say. Needed only
 * after refrain_stop(), or where the setting `start` is off. */
static inline void refrain_start(void) {
  if (refrain_start_) refrain_start_();
}

/* What is held is submitted, and from now on every call goes straight to the driver. */
static inline void refrain_stop(void) {
  if (refrain_stop_) refrain_stop_();
}

/* What is held of any thread's work is submitted now: before another process or a device that Refrain does not see
 * waits for it. */
static inline void refrain_flush(void) {
  if (refrain_flush_) refrain_flush_();
}

/* The calling thread enters a region of this name, inside the one that it is in: report and capture tell what was
 * submitted there. Use few different names: "step", not "step 17". The name is copied (63 bytes of it). */
static inline void refrain_region_begin(const char* name) {
  if (refrain_region_begin_) refrain_region_begin_(name);
}

/* The calling thread leaves the region that it entered last. */
static inline void refrain_region_end(void) {
  if (refrain_region_end_) refrain_region_end_();
}

/* NOLINTEND(modernize-redundant-void-arg) */
#ifdef __cplusplus
}
#endif

#endif /* REFRAIN_H */
