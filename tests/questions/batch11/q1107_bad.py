import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class SentimentDataset(Dataset):
    def __init__(self, n=368, length=12, vocab=40):
        self.x = torch.randint(0, vocab, (n, length))
        self.y = (self.x.float().mean(1) > vocab / 2).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class TinyGPTClassifier(nn.Module):
    def __init__(self, vocab=40, emb=32, num_classes=2):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab, emb)
        self.block = nn.TransformerEncoderLayer(emb, 4, 64, dropout=0.0, batch_first=True)
        self.out_head = nn.Linear(emb, num_classes)

    def forward(self, idx):
        return self.out_head(self.block(self.tok_emb(idx))[:, -1])


def calc_loss_batch(input_batch, target_batch, model):
    logits = model(input_batch)
    return nn.functional.cross_entropy(logits, target_batch)


@torch.no_grad()
def calc_accuracy_loader(loader, model):
    model.eval()
    correct = sum((model(x).argmax(-1) == y).sum().item() for x, y in loader)
    model.train()
    return correct / len(loader.dataset)


def train_classifier(model, train_loader, optimizer, num_epochs, accumulation_steps):
    for epoch in range(num_epochs):
        model.train()
        optimizer.zero_grad()
        running, n_updates = 0.0, 0
        for batch_idx, (input_batch, target_batch) in enumerate(train_loader):
            loss = calc_loss_batch(input_batch, target_batch, model)
            running += loss.item()
            loss /= accumulation_steps
            loss.backward()
            is_update_step = batch_idx % accumulation_steps == 0
            if is_update_step:
                optimizer.step()
                optimizer.zero_grad()
                n_updates += 1
        acc = calc_accuracy_loader(train_loader, model)
        print(
            f"Ep {epoch + 1}: train loss {running / len(train_loader):.3f}, acc {acc:.3f}, updates {n_updates}"
        )


torch.manual_seed(123)
loader = DataLoader(SentimentDataset(), batch_size=16, shuffle=True)
model = TinyGPTClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
train_classifier(model, loader, optimizer, num_epochs=8, accumulation_steps=4)
