// A function-local static that many threads want at once: one of them initializes it.
#include <pthread.h>

static int made;

struct Table {
    int cells[16];
    Table() { made++; for (int i = 0; i < 16; i++) cells[i] = i; }
};

static Table &table() { static Table it; return it; }

static void *sum(void *into) {
    for (int i = 0; i < 16; i++) *static_cast<int *>(into) += table().cells[i];
    return nullptr;
}

int main() {
    static pthread_t threads[4];
    static int sums[4];
    for (int t = 0; t < 4; t++) pthread_create(&threads[t], nullptr, sum, &sums[t]);
    for (int t = 0; t < 4; t++) pthread_join(threads[t], nullptr);
    return made == 1 && sums[0] + sums[1] + sums[2] + sums[3] == 480 ? 0 : 1;
}
