from trueodds.kernels.logit_boost cimport BoostedRows


cdef class TreeFolds:
    cdef const long long[:, ::1] decks
    cdef bint weka, whole_rows
    cdef double[:, ::1] weight_in
    cdef int[::1] grouped, sequence
    cdef readonly object test_weight, order

    cpdef void deal(self, BoostedRows sample) noexcept nogil
    cdef void deal_as_weka(self, BoostedRows sample) noexcept nogil
    cdef void deal_decks(self, BoostedRows sample) noexcept nogil
