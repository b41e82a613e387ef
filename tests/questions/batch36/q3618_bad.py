import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
VOCAB, LENGTH, CLASSES = 400, 8, 6


class TextClassifier(nn.Module):
    def __init__(self, dim=96, drop=0.6):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, dim)
        self.drop = nn.Dropout(drop)
        self.fc1 = nn.Linear(dim, 128)
        self.fc2 = nn.Linear(128, CLASSES)

    def forward(self, tokens):
        x = self.drop(self.emb(tokens))
        return self.fc2(self.drop(F.relu(self.fc1(x))))


class Trainer:
    def __init__(self, model, lr=3e-3, batch_size=20, validations_per_epoch=4):
        self.model = model
        self.batch_size = batch_size
        self.validations_per_epoch = validations_per_epoch
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, x, y, xv, yv, epochs):
        for epoch in range(epochs):
            self.model.train()
            perm = torch.randperm(len(x))
            chunks = perm.chunk(self.validations_per_epoch)
            for chunk in chunks:
                train_loss = self.train_loop_process_batches(x[chunk], y[chunk])
                val_loss, val_acc = self.validate(xv, yv)
            print(f"epoch {epoch} train loss {train_loss:.4f} valid loss {val_loss:.4f} valid acc {val_acc:.3f}")

    def train_loop_process_batches(self, x, y):
        total, steps = 0.0, 0
        for i in range(0, len(x), self.batch_size):
            loss = F.cross_entropy(self.model(x[i:i + self.batch_size]), y[i:i + self.batch_size])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
            steps += 1
        return total / steps

    def validate(self, xv, yv):
        self.model.eval()
        with torch.no_grad():
            out = self.model(xv)
            return F.cross_entropy(out, yv).item(), (out.argmax(1) == yv).float().mean().item()


topics = torch.softmax(1.2 * torch.randn(CLASSES, VOCAB), dim=-1)


def make(n):
    y = torch.randint(0, CLASSES, (n,))
    return torch.multinomial(topics[y], LENGTH, replacement=True), y


x, y = make(200)
xv, yv = make(1000)
trainer = Trainer(TextClassifier())
trainer.fit(x, y, xv, yv, epochs=30)
