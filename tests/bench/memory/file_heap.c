// Puts the memory of blocks of a one-rank sialrun into a file, mapped as shared: what a program has that leaves the
// movement between memory and disk to the kernel. For LD_PRELOAD; built by file_heap.py, no part of sialx.
//
//   FILE_HEAP_FOLDER  where the file is made, without a name
//   FILE_HEAP_BYTES   what blocks use: the file has so many bytes reserved and written (zeros) before the run uses it
//
// The memory of blocks is the one large address range without access rights that sialrun asks for. One line on standard
// error says that it was found; a run without that line has measured something else.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void* (*map_function)(void*, size_t, int, int, int, off_t);

static void fail(const char* what) {
  perror(what);
  _exit(99);
}

static int make_file(const char* folder, size_t length, size_t reserved) {
  static char zeros[1 << 20];
  const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) fail("file heap: open");
  if (ftruncate(file, (off_t)length) != 0) fail("file heap: ftruncate");
  if (reserved > length) reserved = length;
  if (posix_fallocate(file, 0, (off_t)reserved) != 0) fail("file heap: posix_fallocate");
  // Reserved space that was never written is converted at the first write of each page; a file that was written is not.
  for (size_t at = 0; at < reserved; at += sizeof zeros)
    if (pwrite(file, zeros, reserved - at < sizeof zeros ? reserved - at : sizeof zeros, (off_t)at) < 0)
      fail("file heap: pwrite");
  if (fdatasync(file) != 0) fail("file heap: fdatasync");
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  return file;
}

static void* map(const char* name, void* address, size_t length, int protection, int flags, int file, off_t offset) {
  map_function next = (map_function)dlsym(RTLD_NEXT, name);
  const char *folder = getenv("FILE_HEAP_FOLDER"), *bytes = getenv("FILE_HEAP_BYTES");
  const size_t reserved = bytes ? strtoull(bytes, NULL, 10) : 0;
  if (!folder || file != -1 || protection != PROT_NONE || !(flags & MAP_NORESERVE) || length < reserved)
    return next(address, length, protection, flags, file, offset);
  const int heap = make_file(folder, length, reserved);
  void* memory = next(NULL, length, protection, MAP_SHARED | MAP_NORESERVE, heap, 0);
  if (memory == MAP_FAILED) fail("file heap: mmap");
  close(heap);
  fprintf(stderr, "file heap: %zu bytes in %s, of which %zu reserved\n", length, folder, reserved);
  return memory;
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  return map("mmap", address, length, protection, flags, file, offset);
}
void* mmap64(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  return map("mmap64", address, length, protection, flags, file, offset);
}
