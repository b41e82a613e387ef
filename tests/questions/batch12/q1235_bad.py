import torch


def softmax(z, b=1e-2):
    e = torch.exp(z.clamp(max=60))
    return e / (e.sum(dim=1, keepdim=True) + b)


def nll(p, target, b=1e-2):
    picked = p[torch.arange(len(p)), target]
    return -(picked + b).log().mean()


def digits(n, generator):
    """Seven-segment digits in grey values of 0 to 255, shifted and blurred by noise."""
    codes = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
    where = {
        "a": (slice(1, 2), slice(2, 6)),
        "b": (slice(1, 6), slice(5, 6)),
        "c": (slice(5, 10), slice(5, 6)),
        "d": (slice(9, 10), slice(2, 6)),
        "e": (slice(5, 10), slice(2, 3)),
        "f": (slice(1, 6), slice(2, 3)),
        "g": (slice(5, 6), slice(2, 6)),
    }
    clean = torch.zeros(10, 11, 8)
    for digit, code in enumerate(codes):
        for segment in code:
            clean[digit][where[segment]] = 255.0
    y = torch.randint(10, (n,), generator=generator)
    images = clean[y]
    shift = torch.randint(-1, 2, (n,), generator=generator)
    images = torch.stack([im.roll(int(s), dims=1) for im, s in zip(images, shift)])
    noise = 60 * torch.randn(images.shape, generator=generator)
    return (images + noise).clamp(0, 255).flatten(1) / 255, y


def main():
    generator = torch.Generator().manual_seed(0)
    x, y = digits(3000, generator)
    x_test, y_test = digits(800, generator)
    weights = (1.5 * torch.randn(x.shape[1], 10, generator=generator)).requires_grad_()
    bias = torch.zeros(10, requires_grad=True)
    lr = 0.5
    for epoch in range(16):
        total = 0.0
        for rows in torch.randperm(len(x), generator=generator).split(100):
            loss = nll(softmax(x[rows] @ weights + bias), y[rows])
            loss.backward()
            with torch.no_grad():
                for p in (weights, bias):
                    p -= lr * p.grad
                    p.grad.zero_()
            total += loss.item() / 30
        if epoch % 3 == 0:
            with torch.no_grad():
                acc = (softmax(x_test @ weights + bias).argmax(1) == y_test).float().mean()
            print(f"epoch {epoch}: loss {total:.4f}  test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
