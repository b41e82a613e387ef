import torch
from torch import nn
from torch.optim import Optimizer


class AdamW(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_sq"] = torch.zeros_like(p)
                state["step"] += 1
                state["exp_avg"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                denom = (state["exp_avg_sq"] / (1 - beta2 ** state["step"])).sqrt() + group["eps"]
                p.addcdiv_(state["exp_avg"] / (1 - beta1 ** state["step"]), denom, value=-group["lr"])
                p.mul_(1 - group["lr"] * group["weight_decay"])
        return loss


class TextClassifier(nn.Module):
    def __init__(self, vocab=50, dim=24, classes=3):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, dim)
        self.dense = nn.Linear(dim, dim)
        self.classifier = nn.Linear(dim, classes)

    def forward(self, tokens):
        return self.classifier(torch.tanh(self.dense(self.embedding(tokens))))

    def training_step(self, batch):
        tokens, labels = batch
        return nn.functional.cross_entropy(self(tokens), labels)

    def configure_optimizers(self):
        return AdamW(self.parameters(), lr=5e-3)


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def optimizer_step(self, optimizer, closure):
        return optimizer.step(closure)

    def fit(self, model, batches):
        optimizer = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            total = 0.0
            for batch in batches:

                def closure():
                    loss = model.training_step(batch)
                    optimizer.zero_grad()
                    loss.backward()
                    return loss

                total += self.optimizer_step(optimizer, closure).item()
            print(f"epoch {epoch}: loss {total / len(batches):.4f}")


def make_batches(count=10, size=32):
    tokens = torch.randint(0, 50, (count, size, 12))
    labels = (tokens % 3).mode(dim=2).values
    return list(zip(tokens, labels))


def main():
    torch.manual_seed(0)
    Trainer(max_epochs=8).fit(TextClassifier(), make_batches())


main()
