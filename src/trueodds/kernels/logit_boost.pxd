cdef class BoostedRows:
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t n_models, n_columns, n_classes
    cdef double[:, ::1] scores, F
    cdef int[::1] y
    cdef double[::1] weight, top, total
    cdef readonly double[:, ::1] p

    cpdef void take(
        self, const double[:, ::1] scores, const int[::1] y, const double[::1] weight,
        const int[::1] rows) noexcept nogil
    cdef void add(
        self, const double[:, ::1] scores, int label, double weight,
        Py_ssize_t row) noexcept nogil
    cpdef void evaluate(self, const double[:, ::1] coef) noexcept nogil
    cdef void link(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
    cpdef double squared_error(self) noexcept nogil
    cpdef double wrong_weight(self) noexcept nogil


cdef class Booster:
    cdef BoostedRows train, test
    cdef const double[:, ::1] targets
    cdef Py_ssize_t most, patience
    cdef double slack, share
    cdef double[::1] error
    cdef double[:, ::1] wanted, centre
    cdef double[:, :, ::1] sums
    cdef double[::1] spread, slope, intercept, work, resid
    cdef long long[::1] column

    cpdef Py_ssize_t boost(
        self, BoostedRows sample, Py_ssize_t n_iterations, double[:, ::1] coef) noexcept nogil
    cpdef Py_ssize_t choose_iterations(
        self, BoostedRows sample, const double[:, ::1] start,
        const double[:, ::1] test_weight) noexcept nogil
    cdef void prepare(self, BoostedRows sample) noexcept nogil
    cdef bint regress(self, BoostedRows sample) noexcept nogil
    cdef void measure(self, BoostedRows sample, Py_ssize_t k, Py_ssize_t begin) noexcept nogil
    cdef bint choose_column(self, BoostedRows sample, Py_ssize_t k) noexcept nogil
    cdef void advance(self, BoostedRows sample) noexcept nogil
    cdef void accumulate(self, double[:, ::1] coef) noexcept nogil
    cdef Py_ssize_t run_fold(self, Py_ssize_t shortest) noexcept nogil
