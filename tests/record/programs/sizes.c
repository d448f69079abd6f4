// Unsynchronized accesses of every size to the same bytes, with struct copies, memcpy, memmove and
// memset in between: whatever the schedule, each value read must be the one written last.
#include <pthread.h>
#include <stdint.h>
#include <string.h>

struct three { char c[3]; };
struct eight { int a, b; };
struct sixteen { long a, b; };
struct forty { char c[40]; };

static union {
    uint8_t b[64]; uint16_t h[32]; uint32_t w[16]; uint64_t q[8]; __int128 o[4];
    struct three t[8]; struct eight e[8]; struct sixteen s[4]; struct forty f;
} shared, other;
static volatile int loud;
static char bytes[64];

static uint64_t unaligned(const char *from) { uint64_t v; memcpy(&v, from, 8); return v; }

static void *work(void *seed) {
    unsigned s = (unsigned)(uintptr_t)seed;
    uint64_t sum = 0;
    for (int i = 0; i < 3000; i++) {
        s = s * 1103515245 + 12345;
        unsigned at = (s >> 8) & 63, what = (s >> 16) % 20;
        switch (what) {
        case 0: shared.b[at] = s >> 3; break;
        case 1: sum += shared.b[at]; break;
        case 2: shared.h[at / 2] = s >> 3; break;
        case 3: sum += shared.h[at / 2]; break;
        case 4: shared.w[at / 4] = s; break;
        case 5: sum += shared.w[at / 4]; break;
        case 6: shared.q[at / 8] = sum + s; break;
        case 7: sum += shared.q[at / 8]; break;
        case 8: shared.o[at / 16] = (__int128)s << 60; break;
        case 9: sum += (uint64_t)(shared.o[at / 16] >> 30); break;
        case 10: shared.t[at / 8] = other.t[(at / 8 + 1) % 8]; break;
        case 11: shared.e[at / 8] = other.e[(at / 8 + 1) % 8]; break;
        case 12: other.s[at / 16] = shared.s[(at / 16 + 1) % 4]; break;
        case 13: other.f = shared.f; break;
        case 14: memset(&shared.b[at / 2], (int)s, at / 2); break;
        case 15: memcpy(&other.b[at / 2], &shared.b[at / 4], at / 4); break;
        case 16: memmove(&shared.b[1], &shared.b[0], at); break;
        case 17: loud++; break;
        case 18: bytes[at] = s; sum += unaligned(&bytes[at & 55]); break;
        case 19: shared.q[0] = 5; sum += other.q[0]; break;
        }
    }
    return (void *)(uintptr_t)(sum & 1);
}

int main(void) {
    pthread_t t[3];
    for (uintptr_t i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void *)(i * 7919 + 1));
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return 0;
}
