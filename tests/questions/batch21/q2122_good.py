import torch

torch.manual_seed(12)


def make_pictures(n, protos):
    labels = torch.randint(0, protos.size(0), (n,))
    contrast = torch.exp(0.9 * torch.randn(n, 1)).clamp(0.05, 6.0)
    pixels = 20.0 * contrast * (protos[labels] + 0.6 * torch.randn(n, protos.size(1)))
    return pixels.clamp(-255, 255), labels


def softmax_loss(W, X, y, reg):
    scores = X @ W
    scores = scores - torch.max(scores, dim=1, keepdim=True).values
    log_norm = torch.log(torch.exp(scores).sum(dim=1))
    picked = scores[torch.arange(X.size(0)), y]
    return (log_norm - picked).mean() + reg * (W * W).sum()


class LinearClassifier:
    def __init__(self, dim, classes):
        self.W = (0.0001 * torch.randn(dim, classes)).requires_grad_()

    def train(self, X, y, lr, reg, iters, batch=200):
        optimizer = torch.optim.SGD([self.W], lr=lr)
        history = []
        for it in range(iters):
            idx = torch.randint(0, X.size(0), (batch,))
            loss = softmax_loss(self.W, X[idx], y[idx], reg)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append(loss.item())
            if it % 500 == 0:
                print(f"iteration {it:5d} loss {history[-1]:.4f}")
        return history

    @torch.no_grad()
    def accuracy(self, X, y):
        return ((X @ self.W).argmax(1) == y).float().mean().item()


protos = torch.randn(10, 64)
X_train, y_train = make_pictures(8000, protos)
X_val, y_val = make_pictures(2000, protos)

results = {}
for lr in (1e-5, 1e-3):
    for reg in (1e-4,):
        clf = LinearClassifier(64, 10)
        hist = clf.train(X_train, y_train, lr, reg, 3000)
        results[(lr, reg)] = (hist[-1], clf.accuracy(X_train, y_train), clf.accuracy(X_val, y_val))

for (lr, reg), (loss, tr, va) in results.items():
    print(f"lr {lr:g} reg {reg:g} final loss {loss:.4f} train acc {tr:.3f} val acc {va:.3f}")
