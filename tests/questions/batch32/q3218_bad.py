import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, vocab=20, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.head(h)


class SFTTrainer:
    def __init__(self, model, lr=0.5):
        self.model = model
        self.optimizers = [torch.optim.SGD(model.parameters(), lr=lr)]
        self.lr_schedulers = [
            torch.optim.lr_scheduler.LambdaLR(o, lambda s: min(1.0, (s + 1) / 10))
            for o in self.optimizers
        ]

    def forward_backward(self, batch):
        tokens, labels = batch
        logits = self.model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        return loss

    def train_step(self, batch):
        loss = self.forward_backward(batch)
        for optimizer in self.optimizers:
            optimizer.step()
        for scheduler in self.lr_schedulers:
            scheduler.step()
        return loss.item()

    def train(self, loader, epochs):
        step = 0
        for _ in range(epochs):
            for batch in loader:
                loss = self.train_step(batch)
                if step % 40 == 0:
                    norm = nn.utils.get_total_norm([p.grad for p in self.model.parameters()])
                    print(f"step {step} loss {loss:.4f} grad norm {norm:.2f}")
                step += 1


def corpus(n, length=12, vocab=20):
    start = torch.randint(0, vocab, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    seq = (start + stride * torch.arange(length + 1)) % vocab
    return TensorDataset(seq[:, :-1], seq[:, 1:])


if __name__ == "__main__":
    trainer = SFTTrainer(Policy())
    trainer.train(DataLoader(corpus(1600), batch_size=32, shuffle=True), epochs=4)
