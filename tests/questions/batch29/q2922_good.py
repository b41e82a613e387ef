import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
torch.set_num_threads(1)


class Victim(nn.Module):
    def __init__(self, vocab=50, dim=24, num_classes=2):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.LayerNorm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, num_classes))

    def forward(self, x):
        return self.head(self.LayerNorm(self.emb(x)))


def make_texts(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randint(0, 50, (n, 10))
    cue = torch.rand(n, 10) < 0.3
    return TensorDataset(torch.where(cue, y[:, None] * 5 + torch.randint(0, 5, (n, 10)), x), y)


class Trainer:
    def __init__(self, lr=5e-3, epochs=5, batch_size=16, gradient_accumulation_steps=4, max_grad_norm=1.0, weight_decay=0.01):
        self.lr, self.epochs, self.batch_size = lr, epochs, batch_size
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.max_grad_norm, self.weight_decay = max_grad_norm, weight_decay
        self.loss_function = nn.CrossEntropyLoss()

    def register(self, model, train_length):
        self.model = model
        no_decay = ['bias', 'LayerNorm.weight']
        groups = [{'params': [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)],
                   'weight_decay': self.weight_decay},
                  {'params': [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)],
                   'weight_decay': 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=self.lr)
        steps = self.epochs * train_length // self.gradient_accumulation_steps
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: max(0.0, 1 - s / steps))

    def train_one_epoch(self, loader):
        self.model.train()
        total_loss = 0
        for step, (batch_inputs, batch_labels) in enumerate(loader):
            logits = self.model(batch_inputs)
            loss = self.loss_function(logits, batch_labels)

            if self.gradient_accumulation_steps > 1:
                loss = loss / self.gradient_accumulation_steps
            loss.backward()

            if (step + 1) % self.gradient_accumulation_steps == 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
                self.optimizer.step()
                self.scheduler.step()
                self.model.zero_grad()
            total_loss += loss.item() * self.gradient_accumulation_steps
        return total_loss / len(loader)

    def train(self, model, train_set, dev_set):
        loader = DataLoader(train_set, batch_size=self.batch_size, shuffle=True)
        self.register(model, len(loader))
        for epoch in range(self.epochs):
            loss = self.train_one_epoch(loader)
            model.eval()
            with torch.no_grad():
                x, y = dev_set.tensors
                acc = (model(x).argmax(1) == y).float().mean().item()
            print(f"Epoch: {epoch + 1}, avg loss: {loss:.4f}, dev acc: {acc:.3f}")


Trainer().train(Victim(), make_texts(1280), make_texts(300))
