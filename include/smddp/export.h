/* Linkage of the public functions: the one macro that every declaration of the API carries. */
#ifndef SMDDP_EXPORT_H
#define SMDDP_EXPORT_H

#if defined(SMDDP_STATIC)
#define SMDDP_EXPORT
#elif defined(__GNUC__)
#define SMDDP_EXPORT __attribute__((visibility("default")))
#else
#define SMDDP_EXPORT
#endif

#endif
