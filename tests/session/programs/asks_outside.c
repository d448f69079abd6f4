/* Instructions ask the processor's clock, and the kernel. */
__attribute__((noipa)) static unsigned long long now(void)
{
    return __builtin_ia32_rdtsc();
}

__attribute__((noipa)) static long parent(void)
{
    long number = 110;
    __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
    return number;
}

int main(void)
{
    return now() == 0 || parent() < 0;
}
