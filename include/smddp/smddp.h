/* SMDDP: collective communication for data-parallel training. The whole C API.
 *
 * Every fallible function returns smddp_status_t and gives its results through its last parameters; on failure the outputs are
 * NULL or unchanged and smddp_last_error() holds one sentence. Counts are elements, sizes are bytes, times are milliseconds.
 * Public structs begin with struct_size (set it to sizeof the struct; SMDDP_INIT_STRUCT does), zero in any other field means the
 * default, and fields are only ever appended. Enumerators are never renumbered. "Since" is 0.1 unless a function says otherwise.
 *
 * Threads: different communicators may be used by different threads at the same time. Collectives of one communicator must be
 * called in the same order on all its ranks, therefore a communicator belongs to the thread that first calls a collective on it,
 * until that thread ends; see smddp_thread_mode_t. Functions that are not collective may be called by any thread.
 *
 * Memory: buffers belong to the caller; an asynchronous call needs them, unchanged and alive, until its request has completed.
 * In place is allowed as each function says; any other overlap of sendbuf and recvbuf is an error. A buffer may be NULL where its
 * count is 0.
 *
 * Errors that every function with a communicator may return: SMDDP_ERR_INVALID_ARGUMENT (NULL or freed handle, bad enumerator),
 * SMDDP_ERR_INVALID_USAGE (forked child, after finalize). Errors that every collective may return beside them are listed at
 * smddp_status_t. */
#ifndef SMDDP_SMDDP_H
#define SMDDP_SMDDP_H

#include <smddp/export.h>
#include <smddp/version.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types ------------------------------------------------------------------------------------------------------------- */

/* A group of ranks in one context. Owner: the caller, from the call that creates it to smddp_comm_free or smddp_finalize. */
typedef struct smddp_comm *smddp_comm_t;

/* One asynchronous operation. Owner: the caller, from the call that creates it to smddp_request_free. */
typedef struct smddp_request *smddp_request_t;

/* A registered range of user memory. Owner: the caller, to smddp_deregister. */
typedef struct smddp_registration *smddp_registration_t;

typedef enum smddp_status {
  SMDDP_SUCCESS = 0,
  SMDDP_ERR_INVALID_ARGUMENT = 1, /* a value that the call can never accept; nothing was sent */
  SMDDP_ERR_INVALID_USAGE = 2,    /* a valid call at the wrong time, in the wrong order or by the wrong thread */
  SMDDP_ERR_UNSUPPORTED = 3,      /* reserved or not built in; the sentence says what and why */
  SMDDP_ERR_MISMATCH = 4,         /* ranks called different collectives, counts, dtypes, ops or roots; both are named */
  SMDDP_ERR_TIMEOUT = 5,          /* the deadline passed; the ranks that are missing are named */
  SMDDP_ERR_PEER_GONE = 6,        /* a rank died or finalized; it is named */
  SMDDP_ERR_ABORTED = 7,          /* smddp_comm_abort was called by some rank, which is named */
  SMDDP_ERR_RESOURCE = 8,         /* memory, descriptors, threads or a limit of the library ran out */
  SMDDP_ERR_TRUNCATED = 9,        /* a message was longer than the receive buffer */
  SMDDP_ERR_BOOTSTRAP = 10,       /* ranks could not find each other: address, port, rank, size or job id */
  SMDDP_ERR_VERSION = 11,         /* ranks run different, incompatible versions or parameters */
  SMDDP_ERR_SYSTEM = 12,          /* a system call failed; the sentence has its name and errno */
  SMDDP_ERR_INTERNAL = 13,        /* a defect of the library */
  SMDDP_ERR_TRANSPORT = 14,       /* reserved: a network provider failed */
  SMDDP_ERR_DEVICE = 15           /* reserved: a CUDA call failed */
} smddp_status_t;

/* Element types. Values 14 to 63 are reserved for types of the library, 4096 and up for user-defined ones. */
typedef enum smddp_dtype {
  SMDDP_DTYPE_NONE = 0, /* no type: the default in option structs */
  SMDDP_INT8 = 1,
  SMDDP_UINT8 = 2,
  SMDDP_INT16 = 3,
  SMDDP_UINT16 = 4,
  SMDDP_INT32 = 5,
  SMDDP_UINT32 = 6,
  SMDDP_INT64 = 7,
  SMDDP_UINT64 = 8,
  SMDDP_FLOAT16 = 9,   /* IEEE 754 binary16; sums accumulate in float32 and are rounded once, to nearest even */
  SMDDP_BFLOAT16 = 10, /* as FLOAT16 */
  SMDDP_FLOAT32 = 11,
  SMDDP_FLOAT64 = 12,
  SMDDP_BOOL = 13,           /* one byte, 0 or not 0; results are 0 or 1. SUM, MAX and BOR are logical or; PROD, MIN and BAND and */
  SMDDP_FLOAT8_E4M3 = 16,    /* reserved */
  SMDDP_FLOAT8_E5M2 = 17,    /* reserved */
  SMDDP_COMPLEX64 = 24,      /* reserved */
  SMDDP_COMPLEX128 = 25,     /* reserved */
  SMDDP_FLOAT32_INT32 = 32,  /* reserved: pair of a value and an index */
  SMDDP_FLOAT64_INT32 = 33,  /* reserved */
  SMDDP_INT32_INT32 = 34,    /* reserved */
  SMDDP_INT64_INT32 = 35,    /* reserved */
  SMDDP_DTYPE_USER = 4096    /* reserved: first user-defined type */
} smddp_dtype_t;

/* Reductions. Integers wrap; AVG divides the sum by the number of ranks, for integers toward zero; MIN and MAX give NaN if any input
 * is NaN, and order -0 before +0; a NaN that results is the positive quiet one.
 * Values 14 to 63 are reserved for the library, 4096 and up for user-defined operations. */
typedef enum smddp_op {
  SMDDP_SUM = 0,
  SMDDP_AVG = 1, /* not for SMDDP_BOOL */
  SMDDP_PROD = 2,
  SMDDP_MIN = 3,
  SMDDP_MAX = 4,
  SMDDP_BAND = 5, /* integers and SMDDP_BOOL */
  SMDDP_BOR = 6,  /* integers and SMDDP_BOOL */
  SMDDP_BXOR = 7, /* integers and SMDDP_BOOL */
  SMDDP_PREMUL_SUM = 8, /* reserved: sum of scale × input, smddp_call_options_t.scale */
  SMDDP_MINLOC = 9,     /* reserved */
  SMDDP_MAXLOC = 10,    /* reserved */
  SMDDP_LAND = 11,      /* reserved */
  SMDDP_LOR = 12,       /* reserved */
  SMDDP_LXOR = 13,      /* reserved */
  SMDDP_OP_USER = 4096  /* reserved: first user-defined operation */
} smddp_op_t;

/* Who may call collectives on a communicator. */
typedef enum smddp_thread_mode {
  SMDDP_THREAD_DEFAULT = 0, /* the creator's mode; SMDDP_THREAD_OWNED for the world communicator */
  SMDDP_THREAD_OWNED = 1,   /* the first thread that calls one, until it ends; others get SMDDP_ERR_INVALID_USAGE */
  SMDDP_THREAD_ORDERED = 2  /* any thread; the program itself puts the calls into the same order on all ranks. Two calls at the same
                               time are SMDDP_ERR_INVALID_USAGE for the second one */
} smddp_thread_mode_t;

#define SMDDP_TIMEOUT_DEFAULT ((int64_t)0)
#define SMDDP_TIMEOUT_INFINITE INT64_MAX
#define SMDDP_COLOR_NONE (-1)
#define SMDDP_ANY_SOURCE (-1)
#define SMDDP_ANY_TAG (-1)
#define SMDDP_TAG_MAX INT32_MAX
#define SMDDP_UNIQUE_ID_BYTES 128

/* How the ranks of one job find each other: made by one process, given to all by any means (a file, MPI, a key-value store). */
typedef struct smddp_unique_id {
  char bytes[SMDDP_UNIQUE_ID_BYTES];
} smddp_unique_id_t;

/* What smddp_init needs to know beyond the launcher's environment. Strings are copied. */
typedef struct smddp_init_options {
  size_t struct_size;
  int rank;                           /* of this process, 0 … size − 1; read only if size is not 0 */
  int size;                           /* number of ranks; 0: rank and size come from the launcher's environment */
  int port;                           /* TCP port at which rank 0 listens for the others; 0: from the launcher */
  int thread_mode;                    /* smddp_thread_mode_t of the world communicator */
  const char *address;                /* host name or IPv4/IPv6 address of rank 0; NULL: from the launcher */
  const char *job_id;                 /* tells apart jobs that meet at one port; NULL: from the launcher */
  const smddp_unique_id_t *unique_id; /* replaces address, port and job_id; needs rank and size; there are no servers then */
  int64_t timeout_ms;                 /* of smddp_init and, unless changed, of every operation; 0: SMDDP_TIMEOUT_MS, 30 min */
} smddp_init_options_t;

/* What a new communicator takes over or changes. */
typedef struct smddp_comm_options {
  size_t struct_size;
  int thread_mode;    /* smddp_thread_mode_t; 0: as the parent */
  int reserved;       /* 0 */
  const char *name;   /* copied; NULL: parent's name and a number */
  int64_t timeout_ms; /* 0: as the parent */
} smddp_comm_options_t;

/* What one call changes. Copied at the call. */
typedef struct smddp_call_options {
  size_t struct_size;
  int64_t timeout_ms;       /* deadline of this operation from now; 0: the communicator's; negative: SMDDP_ERR_INVALID_ARGUMENT */
  void *stream;             /* reserved (cudaStream_t): NULL */
  int priority;             /* larger goes first; a hint, today without effect */
  smddp_dtype_t wire_dtype; /* reserved: SMDDP_DTYPE_NONE */
  double scale;             /* reserved: factor of SMDDP_PREMUL_SUM */
  const char *algorithm;    /* of a collective, such as "ring", the same on all ranks; NULL: SMDDP_ALGORITHM, else the library chooses. Has no
                               effect where all ranks are on one node. Errors: INVALID_ARGUMENT for a name that the collective does not have,
                               or that is not for this communicator's nodes; the sentence lists those that there are */
} smddp_call_options_t;

/* What smddp_recv received. */
typedef struct smddp_message {
  size_t struct_size;
  int source;   /* rank of the sender */
  int tag;      /* its tag */
  size_t bytes; /* length of the message */
} smddp_message_t;

/* Runs once when a request completes, on the thread that completes it; it must not block and must not call collectives. */
typedef void (*smddp_callback_t)(void *arg, smddp_status_t status);

/* What smddp_info describes, and how. */
typedef enum smddp_info_kind {
  SMDDP_INFO_BUILD = 0,      /* version, compiler, SIMD targets, features */
  SMDDP_INFO_TOPOLOGY = 1,   /* NUMA nodes, cores, GPUs, NICs, allowed CPUs */
  SMDDP_INFO_PARAMETERS = 2, /* each SMDDP_* environment variable: value, default, range, meaning */
  SMDDP_INFO_LAUNCHER = 3,   /* rank, size and address as smddp_init(NULL, …) would take them, and from which variables */
  SMDDP_INFO_PROVIDERS = 4,  /* libfabric's providers here, measured, and which one a job would take; loads libfabric */
  SMDDP_INFO_JOB = 5         /* the job of smddp_comm_world: nodes, provider, figures of the network and the algorithms that follow */
} smddp_info_kind_t;

typedef enum smddp_info_format { SMDDP_FORMAT_TEXT = 0, SMDDP_FORMAT_JSON = 1 } smddp_info_format_t;

/* The schedule that smddp_schedule_describe describes: what one rank does in a collective, by some algorithm, for ranks on some nodes. */
typedef struct smddp_schedule_query {
  size_t struct_size;
  const char *collective; /* "allreduce", "broadcast", "reduce", "allgather", "reduce_scatter", "alltoall", "gather", "scatter", "barrier" */
  const char *algorithm;  /* such as "sharded"; NULL: the error names those that there are */
  const char *nodes;      /* ranks of each node, such as "2+2+1"; NULL: each rank on a node of its own */
  int ranks;              /* 1 … 1024; 0: as nodes says */
  int rank;               /* whose schedule, 0 … ranks − 1; ranks + s: that of server s */
  int root;               /* of collectives with a root, 0 … ranks − 1 */
  int servers;            /* processes beside the ranks, for algorithms that use them */
} smddp_schedule_query_t;

/* Gives a public struct its size and zero, that is the default, everywhere else: smddp_init_options_t o = SMDDP_INIT_STRUCT(o); */
#ifdef __cplusplus
#define SMDDP_INIT_STRUCT(variable) {sizeof(variable)}
#else
#define SMDDP_INIT_STRUCT(variable) {.struct_size = sizeof(variable)}
#endif

/* ---- Version and errors ------------------------------------------------------------------------------------------------- */

/* Version of the loaded library. Each parameter: out, nullable. Any thread, never fails. smddp_version(3) */
SMDDP_EXPORT void smddp_version(int *major, int *minor, int *patch);

/* Name of a status, such as "SMDDP_ERR_TIMEOUT"; "unknown status" for any other value. Static. Any thread. smddp_status_string(3) */
SMDDP_EXPORT const char *smddp_status_string(smddp_status_t status);

/* The sentence of the last failed call of this thread, "" before the first. Owner: the library; valid until this thread's next
 * failed call. Any thread, never fails. smddp_last_error(3) */
SMDDP_EXPORT const char *smddp_last_error(void);

/* Bytes of one element. size: out. Errors: INVALID_ARGUMENT for a value that is no type, UNSUPPORTED for a reserved one. Any
 * thread. smddp_dtype_size(3) */
SMDDP_EXPORT smddp_status_t smddp_dtype_size(smddp_dtype_t dtype, size_t *size);

/* Name of a type such as "float32", or of an operation such as "sum"; "unknown" for any other value. Static. Any thread.
 * smddp_dtype_size(3) */
SMDDP_EXPORT const char *smddp_dtype_name(smddp_dtype_t dtype);
SMDDP_EXPORT const char *smddp_op_name(smddp_op_t op);

/* Describes the build, the machine, the parameters or the job; only the last needs one. buffer: out, capacity bytes, nullable if capacity is 0; receives as
 * much as fits and a terminating zero. length: out, nullable, characters of the whole text without the zero. Any thread. Errors:
 * INVALID_ARGUMENT, SYSTEM if the topology cannot be read, INVALID_USAGE if there is no job to describe. smddp_info(3) */
SMDDP_EXPORT smddp_status_t smddp_info(smddp_info_kind_t kind, smddp_info_format_t format, char *buffer, size_t capacity,
                                       size_t *length);

/* Describes a schedule; needs no job. query: what. format, buffer, capacity and length: as smddp_info. Any thread. Errors:
 * INVALID_ARGUMENT, which names the value and what it may be. smddp_schedule_describe(3) */
SMDDP_EXPORT smddp_status_t smddp_schedule_describe(const smddp_schedule_query_t *query, smddp_info_format_t format, char *buffer,
                                                    size_t capacity, size_t *length);

/* ---- Start and stop ----------------------------------------------------------------------------------------------------- */

/* Makes this process, or thread, a rank of a job: finds the others, builds the context and its world communicator.
 * options: nullable, then everything comes from the launcher (smddprun, torchrun, mpiexec, srun; without any: one rank).
 * world: out; owner: the caller, ends with smddp_finalize. A process may hold several contexts, each its own rank.
 * Blocks until all ranks have called it. Errors: INVALID_ARGUMENT (names the value or the variable), BOOTSTRAP (address, port in
 * use, duplicate rank, size or job id differs), VERSION, TIMEOUT (names the ranks that did not come), RESOURCE, SYSTEM,
 * UNSUPPORTED (ranks on several hosts), INVALID_USAGE (rank 0 did not make the unique id). smddp_init(3) */
SMDDP_EXPORT smddp_status_t smddp_init(const smddp_init_options_t *options, smddp_comm_t *world);

/* Makes this process, or thread, a server of a job whose ranks were started with SMDDP_SERVERS: it reduces for the ranks, which send it
 * shards of their vectors, and is no rank itself. options: as of smddp_init, size being the number of ranks and rank this server's
 * number; nullable, then from smddprun. Blocks until the ranks finalize: SUCCESS; or until the job breaks. Errors: those of smddp_init;
 * PEER_GONE (a member died, which is named) and what else breaks the world communicator of the ranks. smddp_serve(3) */
SMDDP_EXPORT smddp_status_t smddp_serve(const smddp_init_options_t *options);

/* Makes an id for smddp_init_options_t.unique_id. The process that makes it must become rank 0. id: out. Errors: SYSTEM,
 * RESOURCE, INVALID_ARGUMENT (SMDDP_BOOTSTRAP_INTERFACE). Any thread. smddp_unique_id_create(3) */
SMDDP_EXPORT smddp_status_t smddp_unique_id_create(smddp_unique_id_t *id);

/* Ends a context: cancels what is outstanding, tells the peers, frees the world communicator and all made from it. Not collective:
 * a peer that still waits for this rank gets SMDDP_ERR_PEER_GONE. Memory of smddp_alloc stays valid until smddp_free; requests
 * until smddp_request_free. world: as smddp_init gave it. Returns within 5 s. smddp_finalize(3) */
SMDDP_EXPORT smddp_status_t smddp_finalize(smddp_comm_t world);

/* ---- Communicators ------------------------------------------------------------------------------------------------------ */

/* World communicator of the context that this process initialised first and has not finalized. world: out. Errors: INVALID_USAGE if
 * there is none. smddp_comm_world(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_world(smddp_comm_t *world);

/* This process's rank; number of ranks; the same among the communicator's ranks on this node. smddp_comm_rank(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_rank(smddp_comm_t comm, int *rank);
SMDDP_EXPORT smddp_status_t smddp_comm_size(smddp_comm_t comm, int *size);
SMDDP_EXPORT smddp_status_t smddp_comm_local_rank(smddp_comm_t comm, int *local_rank);
SMDDP_EXPORT smddp_status_t smddp_comm_local_size(smddp_comm_t comm, int *local_size);

/* Collective: one new communicator for each colour. color: 0 or more, or SMDDP_COLOR_NONE to get NULL. key: orders the ranks, equal
 * keys keep the parent's order. options: nullable; may differ by rank, except the name. new_comm: out. Errors beside those of
 * collectives: RESOURCE, then on all ranks. smddp_comm_split(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_split(smddp_comm_t comm, int color, int key, const smddp_comm_options_t *options,
                                             smddp_comm_t *new_comm);

/* Collective: a communicator of the same ranks in the same order with a life of its own. smddp_comm_split(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_dup(smddp_comm_t comm, const smddp_comm_options_t *options, smddp_comm_t *new_comm);

/* Frees a communicator that split or dup made. Local: ranks may free in any order. Errors: INVALID_ARGUMENT for NULL or the world
 * communicator, INVALID_USAGE while operations are outstanding. smddp_comm_free(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_free(smddp_comm_t comm);

/* Breaks a communicator on all its ranks: outstanding and later operations return SMDDP_ERR_ABORTED with this rank and the reason.
 * reason: nullable, copied, at most 200 characters are kept. Any thread, at any time. Only free and finalize follow it.
 * smddp_comm_abort(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_abort(smddp_comm_t comm, const char *reason);

/* Health: SUCCESS, or the error that all later operations will return, whose sentence smddp_last_error() then gives. Any thread.
 * smddp_comm_status(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_status(smddp_comm_t comm);

/* Deadline of later operations that give none: timeout_ms > 0, SMDDP_TIMEOUT_DEFAULT for the value of SMDDP_TIMEOUT_MS, or
 * SMDDP_TIMEOUT_INFINITE. Local. Errors: INVALID_ARGUMENT if negative. smddp_comm_set_timeout(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_set_timeout(smddp_comm_t comm, int64_t timeout_ms);

/* Name in messages; copied, at most 63 bytes are kept. smddp_comm_get_name: owner of *name: the communicator, until it is named anew
 * or freed. smddp_comm_set_name(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_set_name(smddp_comm_t comm, const char *name);
SMDDP_EXPORT smddp_status_t smddp_comm_get_name(smddp_comm_t comm, const char **name);

/* A counter of this rank. Of comm alone: "fast_path", "eager", "two_copy", "zero_copy", "bytes"; "wire_messages_sent",
 * "wire_messages_received", "wire_bytes_sent", "wire_bytes_received"; and "COLLECTIVE:ALGORITHM", such as "allreduce:ring", collectives that
 * ran between nodes by it. Of its whole context: "engine_operations", "sleeps", "yields", "doorbell_rings", "progress_wakeups",
 * "wire_sleeps", "wire_naps", "wire_eager", "wire_rendezvous", "wire_puts", "wire_packets", "rail0_bytes" … "rail3_bytes",
 * "lost_rails". name: of the counter. value: out. Any thread. Errors: INVALID_ARGUMENT for an unknown name; the sentence lists them.
 * smddp_comm_counter(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_counter(smddp_comm_t comm, const char *name, uint64_t *value);

/* Which transport joins this rank and rank peer: "self", "shared memory" or a provider. transport: out, static. smddp_comm_transport(3) */
SMDDP_EXPORT smddp_status_t smddp_comm_transport(smddp_comm_t comm, int peer, const char **transport);

/* ---- Collectives -------------------------------------------------------------------------------------------------------- */
/* Each returns when its own part is done (blocking), or at once with a request (async; request: out). p is the number of ranks.
 * options: nullable. The result of a reduction has the same bits on every rank that receives it. All have a page of their own. */

/* recvbuf[i] = reduction over all ranks of sendbuf[i], count elements each. In place: sendbuf == recvbuf. Cost in a node: one slot
 * exchange up to 8 … 64 KiB (by p); above, (p − 1)/p × count read and written twice (private) or once (smddp_alloc). smddp_allreduce(3) */
SMDDP_EXPORT smddp_status_t smddp_allreduce(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op,
                                            smddp_comm_t comm, const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_allreduce_async(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype,
                                                  smddp_op_t op, smddp_comm_t comm, const smddp_call_options_t *options,
                                                  smddp_request_t *request);

/* buffer of root goes to buffer of all, count elements. root may return before the others have called. smddp_broadcast(3) */
SMDDP_EXPORT smddp_status_t smddp_broadcast(void *buffer, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                                            const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_broadcast_async(void *buffer, size_t count, smddp_dtype_t dtype, int root, smddp_comm_t comm,
                                                  const smddp_call_options_t *options, smddp_request_t *request);

/* As allreduce, the result at root only; recvbuf is read by no one and may be NULL elsewhere, and is never changed there.
 * smddp_reduce(3) */
SMDDP_EXPORT smddp_status_t smddp_reduce(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op, int root,
                                         smddp_comm_t comm, const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_reduce_async(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op,
                                               int root, smddp_comm_t comm, const smddp_call_options_t *options,
                                               smddp_request_t *request);

/* recvbuf block r (of count elements, p blocks) = sendbuf of rank r. In place: sendbuf == recvbuf + rank × count.
 * smddp_allgather(3) */
SMDDP_EXPORT smddp_status_t smddp_allgather(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, smddp_comm_t comm,
                                            const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_allgather_async(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype,
                                                  smddp_comm_t comm, const smddp_call_options_t *options,
                                                  smddp_request_t *request);

/* recvbuf (count elements) = this rank's block of the reduction of all sendbufs (p blocks of count). In place:
 * recvbuf == sendbuf + rank × count; the other blocks may then be changed. smddp_reduce_scatter(3) */
SMDDP_EXPORT smddp_status_t smddp_reduce_scatter(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, smddp_op_t op,
                                                 smddp_comm_t comm, const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_reduce_scatter_async(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype,
                                                       smddp_op_t op, smddp_comm_t comm, const smddp_call_options_t *options,
                                                       smddp_request_t *request);

/* recvbuf block s (p blocks of count) = block of this rank in sendbuf of rank s. In place: sendbuf == recvbuf. smddp_alltoall(3) */
SMDDP_EXPORT smddp_status_t smddp_alltoall(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, smddp_comm_t comm,
                                           const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_alltoall_async(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype,
                                                 smddp_comm_t comm, const smddp_call_options_t *options,
                                                 smddp_request_t *request);

/* At root, recvbuf block r (p blocks of count) = sendbuf of rank r; elsewhere recvbuf may be NULL. In place at root:
 * sendbuf == recvbuf + root × count. smddp_gather(3) */
SMDDP_EXPORT smddp_status_t smddp_gather(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, int root,
                                         smddp_comm_t comm, const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_gather_async(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, int root,
                                               smddp_comm_t comm, const smddp_call_options_t *options, smddp_request_t *request);

/* recvbuf (count elements) = block of this rank in sendbuf of root (p blocks of count); elsewhere sendbuf may be NULL. In place at
 * root: recvbuf == sendbuf + root × count. smddp_scatter(3) */
SMDDP_EXPORT smddp_status_t smddp_scatter(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, int root,
                                          smddp_comm_t comm, const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_scatter_async(const void *sendbuf, void *recvbuf, size_t count, smddp_dtype_t dtype, int root,
                                                smddp_comm_t comm, const smddp_call_options_t *options, smddp_request_t *request);

/* Returns when all ranks have called it and all earlier operations of this rank on comm are complete. smddp_barrier(3) */
SMDDP_EXPORT smddp_status_t smddp_barrier(smddp_comm_t comm, const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_barrier_async(smddp_comm_t comm, const smddp_call_options_t *options, smddp_request_t *request);

/* A message of count elements to rank dest under tag (0 … SMDDP_TAG_MAX). Messages between two ranks with matching tags keep their
 * order. Buffered: it returns once buf may be reused, whether or not the receiver has called; only when SMDDP_P2P_BUFFER_BYTES are in
 * flight to dest does it wait for that rank. Any thread. smddp_send(3) */
SMDDP_EXPORT smddp_status_t smddp_send(const void *buf, size_t count, smddp_dtype_t dtype, int dest, int tag, smddp_comm_t comm,
                                       const smddp_call_options_t *options);
SMDDP_EXPORT smddp_status_t smddp_send_async(const void *buf, size_t count, smddp_dtype_t dtype, int dest, int tag, smddp_comm_t comm,
                                             const smddp_call_options_t *options, smddp_request_t *request);

/* Receives at most count elements from rank source, or SMDDP_ANY_SOURCE, under tag, or SMDDP_ANY_TAG. message: out, nullable. Errors
 * beside those of collectives: TRUNCATED if the message is longer; buf then has its beginning. Any thread. smddp_recv(3) */
SMDDP_EXPORT smddp_status_t smddp_recv(void *buf, size_t count, smddp_dtype_t dtype, int source, int tag, smddp_comm_t comm,
                                       const smddp_call_options_t *options, smddp_message_t *message);
SMDDP_EXPORT smddp_status_t smddp_recv_async(void *buf, size_t count, smddp_dtype_t dtype, int source, int tag, smddp_comm_t comm,
                                             const smddp_call_options_t *options, smddp_request_t *request);

/* ---- Requests ----------------------------------------------------------------------------------------------------------- */

/* Makes progress and says whether the operation has ended. done: out, 0 or 1. Returns the operation's status once it has ended,
 * SUCCESS before. Any thread. smddp_wait(3) */
SMDDP_EXPORT smddp_status_t smddp_test(smddp_request_t request, int *done);

/* Waits until the operation has ended and returns its status. timeout_ms: of the wait alone, 0 for none; when it passes,
 * SMDDP_ERR_TIMEOUT is returned and the operation goes on. Any thread. smddp_wait(3) */
SMDDP_EXPORT smddp_status_t smddp_wait(smddp_request_t request, int64_t timeout_ms);

/* Waits for all; NULL entries are skipped. Returns the first error in the order of the array, after all have ended or the wait's
 * own timeout passed. smddp_wait(3) */
SMDDP_EXPORT smddp_status_t smddp_wait_all(size_t count, const smddp_request_t *requests, int64_t timeout_ms);

/* Frees a request. An operation that has not ended goes on and needs its buffers until it ends. NULL is allowed.
 * smddp_request_free(3) */
SMDDP_EXPORT smddp_status_t smddp_request_free(smddp_request_t request);

/* Calls callback(arg, status) once when the operation ends, or at once if it has. Errors: INVALID_USAGE if it has one.
 * smddp_request_set_callback(3) */
SMDDP_EXPORT smddp_status_t smddp_request_set_callback(smddp_request_t request, smddp_callback_t callback, void *arg);

/* The sentence of a failed operation, "" otherwise. Owner: the request. smddp_request_error(3) */
SMDDP_EXPORT const char *smddp_request_error(smddp_request_t request);

/* What a completed smddp_recv_async received. Errors: INVALID_USAGE before completion or for another operation.
 * smddp_request_message(3) */
SMDDP_EXPORT smddp_status_t smddp_request_message(smddp_request_t request, smddp_message_t *message);

/* ---- Memory ------------------------------------------------------------------------------------------------------------- */

/* Memory that peers on this node can read in place, which spares a copy in every collective that uses it. comm: any of the context.
 * bytes: 0 gives NULL. pointer: out, 128-byte aligned, zeroed; owner: the caller, until smddp_free, also beyond smddp_finalize. Local.
 * Any thread. Errors: RESOURCE. smddp_alloc(3) */
SMDDP_EXPORT smddp_status_t smddp_alloc(smddp_comm_t comm, size_t bytes, void **pointer);

/* Frees what smddp_alloc gave; NULL is allowed. Errors: INVALID_ARGUMENT for any other pointer. Any thread. smddp_alloc(3) */
SMDDP_EXPORT smddp_status_t smddp_free(void *pointer);

/* Announces user memory that will be used often, so that a transport can prepare it once. Local. The same or an overlapping range may be
 * registered again; each registration is deregistered once. registration: out. Any thread. smddp_register(3) */
SMDDP_EXPORT smddp_status_t smddp_register(smddp_comm_t comm, void *pointer, size_t bytes, smddp_registration_t *registration);

/* Ends a registration; NULL is allowed. The memory itself stays the caller's. Any thread. smddp_register(3) */
SMDDP_EXPORT smddp_status_t smddp_deregister(smddp_comm_t comm, smddp_registration_t registration);

#ifdef __cplusplus
}
#endif

#endif
