// SPDX-License-Identifier: BSD-2-Clause
// Heap.java - Java with threads, native buffers and compression: memory of malloc beside the collected heap.
import java.nio.ByteBuffer;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

public class Heap {
	static long work(int seed) {
		byte[] input = new byte[100000], output = new byte[120000];
		for (int i = 0; i < input.length; i++)
			input[i] = (byte) (i * seed % 97);
		long sum = 0;
		for (int k = 0; k < 20; k++) {
			Deflater deflater = new Deflater();
			deflater.setInput(input);
			deflater.finish();
			sum += deflater.deflate(output);
			deflater.end();
			ByteBuffer buffer = ByteBuffer.allocateDirect(10000 + k);
			buffer.put(0, (byte) k);
			sum += buffer.get(0);
		}
		CRC32 crc = new CRC32();
		crc.update(input);
		return sum + crc.getValue();
	}

	public static void main(String[] arguments) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(4);
		long sum = 0;
		Future<?>[] results = new Future<?>[8];
		for (int i = 0; i < results.length; i++) {
			int seed = i + 3;
			results[i] = pool.submit(() -> work(seed));
		}
		for (Future<?> result : results)
			sum += (Long) result.get();
		pool.shutdown();
		System.out.println(sum);
	}
}
