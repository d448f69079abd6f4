/* Accesses of different sizes that overlap in part.
 *
 * The word covers bytes 0 to 3. A read of byte 3 races with it, though its address is another; a
 * write of byte 4 does not, though it lies in the same eight-byte granule; a read of the eight bytes
 * races with both.
 */
#include <pthread.h>
#include <stdint.h>

static union {
    uint64_t whole;
    uint32_t word;
    uint8_t bytes[8];
} packet;

static void *writes_word(void *unused)
{
    packet.word = 0x01020304; /* @word */
    return unused;
}

static void *reads_byte(void *unused)
{
    uint8_t seen = packet.bytes[3]; /* @byte3 */
    (void)seen;
    return unused;
}

static void *writes_next_byte(void *unused)
{
    packet.bytes[4] = 9; /* @byte4 */
    return unused;
}

static void *reads_whole(void *unused)
{
    uint64_t seen = packet.whole; /* @whole */
    (void)seen;
    return unused;
}

int main(void)
{
    void *(*bodies[])(void *) = {writes_word, reads_byte, writes_next_byte, reads_whole};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
