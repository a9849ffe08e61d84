-- expect: attempt to index nil with 'loadlib'
package.loadlib('libc.so.6', 'system')
