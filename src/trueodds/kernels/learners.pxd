cdef class RegressionForest:
    cdef const signed char[::1] nominal
    cdef const int[::1] roots, column, attribute, first, n_children
    cdef const double[::1] cut, value, share
    cdef bint stump

    cdef double answer(self, const double[::1] row, Py_ssize_t node) noexcept nogil
