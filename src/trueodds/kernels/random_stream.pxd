cdef class RandomStream:
    cdef unsigned long long state
    cpdef void begin(self, unsigned long long seed, unsigned long long index) noexcept nogil
    cpdef double uniform(self) noexcept nogil
