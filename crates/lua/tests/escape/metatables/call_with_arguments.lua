-- expect: attempt to call a string value
('x')('y')
