/*
 * Devices of a processor that is not there, for LD_PRELOAD: /dev/cpu/N/msr, /dev/hsmp, and the files that say who it is.
 *
 *   FAKEROOT   a folder with dev/cpu/N/msr, dev/hsmp, proc/cpuinfo and sys/devices/system/cpu in it
 *   FAKELOG    a file: a line for each device opened, with the flags
 *
 * msr is a sparse file: a register lies at sixteen times its number, eight bytes of it and eight that are not zero; without
 * these reading is EIO, as of a register that the processor has not. hsmp is a text of lines: socket, message, argument, then
 * the words that come back, or -ERRNO; what stands in no line is ENOMSG.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static int starts(const char *path, const char *with) { return !strncmp(path, with, strlen(with)); }

static const char *faked(const char *path, char *room, size_t size) {
    const char *root = getenv("FAKEROOT");
    if (!root || !path) return path;
    if (!starts(path, "/dev/cpu") && !starts(path, "/dev/hsmp") && strcmp(path, "/proc/cpuinfo") &&
        !starts(path, "/sys/devices/system/cpu")) return path;
    snprintf(room, size, "%s%s", root, path);
    return room;
}

static int is_device(const char *path) {
    size_t length = strlen(path);
    return (starts(path, "/dev/cpu/") && length > 4 && !strcmp(path + length - 4, "/msr")) || !strcmp(path, "/dev/hsmp");
}

static void note(const char *path, int flags) {
    const char *log = getenv("FAKELOG");
    if (!log || !is_device(path)) return;
    static int (*real)(const char *, int, ...);
    if (!real) real = next("open");
    int fd = real(log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (fd >= 0) dprintf(fd, "%s %#o\n", path, flags & O_ACCMODE), close(fd);
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...) {                               \
        char room[4096];                                                       \
        va_list list;                                                          \
        va_start(list, flags);                                                 \
        int mode = va_arg(list, int);                                          \
        va_end(list);                                                          \
        note(path, flags);                                                     \
        return ((int (*)(const char *, int, ...))next(#name))(faked(path, room, sizeof room), flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                           \
    int name(int at, const char *path, int flags, ...) {                       \
        char room[4096];                                                       \
        va_list list;                                                          \
        va_start(list, flags);                                                 \
        int mode = va_arg(list, int);                                          \
        va_end(list);                                                          \
        note(path, flags);                                                     \
        return ((int (*)(int, const char *, int, ...))next(#name))(at, faked(path, room, sizeof room), flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *path) {
    char room[4096];
    return ((DIR * (*)(const char *))next("opendir"))(faked(path, room, sizeof room));
}

#define STAT(name, type)                                                       \
    int name(const char *path, struct type *found) {                           \
        char room[4096];                                                       \
        int status = ((int (*)(const char *, struct type *))next(#name))(faked(path, room, sizeof room), found); \
        if (!status && is_device(path) && getenv("FAKEROOT")) found->st_mode = S_IFCHR | 0600; \
        return status;                                                         \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define FSTATAT(name, type)                                                    \
    int name(int at, const char *path, struct type *found, int flags) {        \
        char room[4096];                                                       \
        int status = ((int (*)(int, const char *, struct type *, int))next(#name))(at, faked(path, room, sizeof room), found, flags); \
        if (!status && is_device(path) && getenv("FAKEROOT")) found->st_mode = S_IFCHR | 0600; \
        return status;                                                         \
    }
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

int access(const char *path, int mode) {
    char room[4096];
    return ((int (*)(const char *, int))next("access"))(faked(path, room, sizeof room), mode);
}

int faccessat(int at, const char *path, int mode, int flags) {
    char room[4096];
    return ((int (*)(int, const char *, int, int))next("faccessat"))(at, faked(path, room, sizeof room), mode, flags);
}

/* ---- registers ---- */

static int names(int fd, const char *end) {
    char link[64], path[4096];
    if (!getenv("FAKEROOT")) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return (size_t)length > strlen(end) && !strcmp(path + length - strlen(end), end) && strstr(path, "/dev/");
}

static ssize_t at_register(int fd, void *data, size_t size, off_t place) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    unsigned char both[16] = {0};
    if (!real) real = next("pread");
    if (size != 8) { errno = EINVAL; return -1; } /* as the driver */
    if (real(fd, both, 16, place) != 16 || !both[8]) { errno = EIO; return -1; }
    memcpy(data, both, 8);
    return 8;
}

#define PREAD(name)                                                            \
    ssize_t name(int fd, void *data, size_t size, off_t place) {               \
        if (names(fd, "/msr")) return at_register(fd, data, size, place * 16); \
        return ((ssize_t (*)(int, void *, size_t, off_t))next(#name))(fd, data, size, place); \
    }
PREAD(pread)
PREAD(pread64)

#define LSEEK(name)                                                            \
    off_t name(int fd, off_t place, int whence) {                              \
        off_t (*real)(int, off_t, int) = next(#name);                          \
        return names(fd, "/msr") ? real(fd, place * 16, whence) / 16 : real(fd, place, whence); \
    }
LSEEK(lseek)
LSEEK(lseek64)

ssize_t read(int fd, void *data, size_t size) {
    ssize_t (*real)(int, void *, size_t) = next("read");
    off_t (*seek)(int, off_t, int) = next("lseek");
    return names(fd, "/msr") ? at_register(fd, data, size, seek(fd, 0, SEEK_CUR)) : real(fd, data, size);
}

/* ---- messages ---- */

struct message { uint32_t id; uint16_t sent, back; uint32_t words[8]; uint16_t socket, pad; };

static int answered(int fd, struct message *m) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    char text[65536], *line, *rest = text;
    if (!real) real = next("pread");
    ssize_t length = real(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    while ((line = strsep(&rest, "\n"))) {
        unsigned socket, id, argument;
        int used, count = 0;
        if (sscanf(line, "%u %x %x%n", &socket, &id, &argument, &used) < 3) continue;
        if (socket != m->socket || id != m->id || argument != (m->sent ? m->words[0] : 0)) continue;
        long value;
        for (char *at = line + used, *end; (value = strtol(at, &end, 0)), end != at && count < 8; at = end) {
            if (value < 0) { errno = (int)-value; return -1; }
            m->words[count++] = (uint32_t)value;
        }
        if (count != m->back) { errno = EINVAL; return -1; } /* as the driver's own table has it */
        return 0;
    }
    errno = ENOMSG;
    return -1;
}

int ioctl(int fd, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    if (request == 0xC02CF800UL && names(fd, "/hsmp")) return answered(fd, argument);
    return ((int (*)(int, unsigned long, ...))next("ioctl"))(fd, request, argument);
}
