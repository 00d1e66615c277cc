import unittest

from delivery.fee import fee


class Fee(unittest.TestCase):
    def test_small_orders_pay(self):
        self.assertEqual(fee(1999), 490)

    def test_an_order_of_50_euros_is_delivered_free(self):
        self.assertEqual(fee(5000), 0)
