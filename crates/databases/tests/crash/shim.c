/* Stands between a process and its disk: makes the n-th call fail, or keeps a journal of what reached which file and
 * what was synced. Preloaded; SQLite calls the C library's functions, and finds these first.
 *
 * TENURE_FAULT_FILES   names of files end so, with commas between; all others are left alone
 * TENURE_FAULT_CALL    write, sync, truncate, read or any: what is counted
 * TENURE_FAULT_AT      the call that fails, from 1; 0 for none
 * TENURE_FAULT_HOW     once, always (from then on), torn (half is written, once), kill (the process ends there)
 * TENURE_FAULT_ERRNO   what it fails with
 * TENURE_FAULT_UNTIL   `always` ends when this file exists
 * TENURE_FAULT_REPORT  where the number of calls is left at the end
 * TENURE_FAULT_JOURNAL where writes, cuts and syncs are noted: sort, file, offset, length, bytes
 * TENURE_FAULT_FOLDER  below it, writes and syncs of files and folders, new folders and new names are noted by their paths
 * TENURE_FAULT_CLOCK   the seconds in this file are added to the clock on the wall, whenever it is looked at */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum sort { WRITE = 'W', SYNC = 'S', UNSYNCED = 'F', TRUNCATE = 'T', READ = 'R' };
/* The same by path, and what only has a path. */
enum named { WRITTEN = 'w', SYNCED = 's', FOLDER = 'm', NAMED = 'n' };

static atomic_long counted;
static long fails_at;
static int with_errno;
static const char *files, *call, *how, *until, *report, *clock_file, *folder;
static int journal = -1;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static const char *setting(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
}

__attribute__((constructor)) static void begin(void) {
    files = setting("TENURE_FAULT_FILES", "");
    call = setting("TENURE_FAULT_CALL", "any");
    how = setting("TENURE_FAULT_HOW", "once");
    until = setting("TENURE_FAULT_UNTIL", "");
    report = setting("TENURE_FAULT_REPORT", "");
    clock_file = setting("TENURE_FAULT_CLOCK", "");
    folder = setting("TENURE_FAULT_FOLDER", "");
    fails_at = atol(setting("TENURE_FAULT_AT", "0"));
    with_errno = atoi(setting("TENURE_FAULT_ERRNO", "5"));
    const char *path = setting("TENURE_FAULT_JOURNAL", "");
    if (*path)
        journal = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

__attribute__((destructor)) static void end(void) {
    if (!*report)
        return;
    char text[32];
    int length = snprintf(text, sizeof text, "%ld\n", atomic_load(&counted));
    int file = syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    syscall(SYS_write, file, text, length);
    syscall(SYS_close, file);
}

/* Which of our files it is, from 1; 0 for none. */
static int file_of(int fd) {
    if (!files || !*files)
        return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length <= 0)
        return 0;
    int number = 1;
    for (const char *at = files; *at; number++) {
        const char *comma = strchrnul(at, ',');
        long size = comma - at;
        if (size <= length && memcmp(path + length - size, at, size) == 0)
            return number;
        at = *comma ? comma + 1 : comma;
    }
    return 0;
}

static void note(enum sort sort, int file, uint64_t offset, uint64_t length, const void *bytes) {
    if (journal < 0)
        return;
    size_t size = 18 + (bytes ? length : 0);
    char *record = malloc(size);
    record[0] = sort;
    record[1] = file;
    memcpy(record + 2, &offset, 8);
    memcpy(record + 10, &length, 8);
    if (bytes)
        memcpy(record + 18, bytes, length);
    syscall(SYS_write, journal, record, size);
    free(record);
}

static void hold(void) { while (atomic_flag_test_and_set(&busy)) ; }
static void let_go(void) { atomic_flag_clear(&busy); }

/* A call by its path, if it is below the folder. A new name is noted with the one before, and a zero between them. */
static void note_path(enum named sort, const char *path, const char *to) {
    if (!folder || !*folder || strncmp(to ? to : path, folder, strlen(folder)))
        return;
    char text[2 * 4096];
    int length = to ? snprintf(text, sizeof text, "%s%c%s", path, 0, to) : snprintf(text, sizeof text, "%s", path);
    hold();
    note((enum sort)sort, 0, 0, length, text);
    let_go();
}

static void note_open(enum named sort, int fd) {
    if (!folder || !*folder)
        return;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        note_path(sort, path, NULL);
    }
}

static int is_counted(enum sort sort) {
    switch (sort) {
    case WRITE: return !strcmp(call, "write") || !strcmp(call, "any");
    case SYNC: return !strcmp(call, "sync") || !strcmp(call, "any");
    case TRUNCATE: return !strcmp(call, "truncate") || !strcmp(call, "any");
    case READ: return !strcmp(call, "read");
    default: return 0;
    }
}

/* Does this call fail? */
static int fails(enum sort sort) {
    if (!is_counted(sort))
        return 0;
    long number = atomic_fetch_add(&counted, 1) + 1;
    if (!fails_at || number < fails_at)
        return 0;
    if (!strcmp(how, "always"))
        return !(*until && syscall(SYS_faccessat, AT_FDCWD, until, F_OK) == 0);
    if (number != fails_at)
        return 0;
    if (!strcmp(how, "kill"))
        syscall(SYS_kill, getpid(), SIGKILL);
    return 1;
}

static ssize_t put(int fd, const void *bytes, size_t length, int64_t offset) {
    return offset < 0 ? syscall(SYS_write, fd, bytes, length) : syscall(SYS_pwrite64, fd, bytes, length, offset);
}

/* An offset below zero: where the file stands. */
static ssize_t write_at(int fd, const void *bytes, size_t length, int64_t offset) {
    int file = file_of(fd);
    if (!file) {
        note_open(WRITTEN, fd);
        return put(fd, bytes, length, offset);
    }
    hold();
    int64_t place = offset < 0 ? syscall(SYS_lseek, fd, 0, SEEK_CUR) : offset;
    ssize_t done;
    if (fails(WRITE)) {
        if (!strcmp(how, "torn") && (done = put(fd, bytes, length / 2, offset)) > 0)
            note(WRITE, file, place, done, bytes);
        errno = with_errno;
        done = -1;
    } else if ((done = put(fd, bytes, length, offset)) > 0) {
        note(WRITE, file, place, done, bytes);
    }
    let_go();
    return done;
}

static int sync_file(int fd, int number) {
    int file = file_of(fd);
    if (!file) {
        int done = syscall(number, fd);
        if (done == 0)
            note_open(SYNCED, fd);
        return done;
    }
    hold();
    int done = -1;
    if (fails(SYNC)) {
        note(UNSYNCED, file, 0, 0, NULL);
        errno = with_errno;
    } else if ((done = syscall(number, fd)) == 0) {
        note(SYNC, file, 0, 0, NULL);
    }
    let_go();
    return done;
}

static int truncate_file(int fd, int64_t length) {
    int file = file_of(fd);
    if (!file)
        return syscall(SYS_ftruncate, fd, length);
    hold();
    int done = -1;
    if (fails(TRUNCATE)) {
        errno = with_errno;
    } else if ((done = syscall(SYS_ftruncate, fd, length)) == 0) {
        note(TRUNCATE, file, length, 0, NULL);
    }
    let_go();
    return done;
}

static ssize_t read_at(int fd, void *bytes, size_t length, int64_t offset) {
    if (!strcmp(call ? call : "", "read") && file_of(fd) && fails(READ)) {
        errno = with_errno;
        return -1;
    }
    return offset < 0 ? syscall(SYS_read, fd, bytes, length) : syscall(SYS_pread64, fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) { return write_at(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return write_at(fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return write_at(fd, bytes, length, at); }
ssize_t read(int fd, void *bytes, size_t length) { return read_at(fd, bytes, length, -1); }
ssize_t pread(int fd, void *bytes, size_t length, off_t at) { return read_at(fd, bytes, length, at); }
ssize_t pread64(int fd, void *bytes, size_t length, off64_t at) { return read_at(fd, bytes, length, at); }
/* A clock that only goes on is left alone. */
int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = syscall(SYS_clock_gettime, clock, time);
    if (done || clock != CLOCK_REALTIME || !clock_file || !*clock_file)
        return done;
    char text[32] = {0};
    int file = syscall(SYS_openat, AT_FDCWD, clock_file, O_RDONLY, 0);
    if (file >= 0) {
        if (syscall(SYS_read, file, text, sizeof text - 1) > 0)
            time->tv_sec += atol(text);
        syscall(SYS_close, file);
    }
    return 0;
}

int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }
int ftruncate(int fd, off_t length) { return truncate_file(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncate_file(fd, length); }

int rename(const char *from, const char *to) {
    int done = syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (done == 0)
        note_path(NAMED, from, to);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    int done = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (done == 0)
        note_path(FOLDER, path, NULL);
    return done;
}
