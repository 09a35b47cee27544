// SPDX-License-Identifier: BSD-2-Clause
// Known.java - threads that allocate through native methods, before and after their callers were compiled.
public class Known {
	static native long keep(long size);

	static native void release(long block);

	static final int THREADS = 4, CALLS = 30000;

	static void work() {
		for (int i = 0; i < CALLS; i++)
			release(keep(48));
		keep(1234);
	}

	public static void main(String[] args) throws Exception {
		System.load(args[0]);
		long[] blocks = new long[100];
		for (int i = 0; i < blocks.length; i++)
			blocks[i] = keep(700);
		Thread[] threads = new Thread[THREADS];
		for (int i = 0; i < THREADS; i++) {
			threads[i] = new Thread(Known::work);
			threads[i].start();
		}
		Thread other = new Thread(() -> {
			for (int i = 0; i < 60; i++)
				release(blocks[i]);
		});
		other.start();
		for (Thread thread : threads)
			thread.join();
		other.join();
		System.out.println("OK");
	}
}
