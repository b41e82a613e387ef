import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Output:
    def __init__(self, loss, start_logits, end_logits):
        self.loss = loss
        self.start_logits = start_logits
        self.end_logits = end_logits


class SpanModel(nn.Module):
    def __init__(self, vocab=40, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.qa = nn.Linear(2 * dim, 2)

    def forward(self, ids, start=None, end=None):
        h, _ = self.gru(self.emb(ids))
        s, e = self.qa(h).unbind(-1)
        loss = None
        if start is not None:
            loss = (F.cross_entropy(s, start) + F.cross_entropy(e, end)) / 2
        return Output(loss, s, e)


def make(n, length=30):
    ids = torch.randint(2, 40, (n, length))
    start = torch.randint(0, length - 6, (n,))
    end = start + torch.randint(1, 6, (n,))
    rows = torch.arange(n)
    ids[rows, start] = 0
    ids[rows, end] = 1
    return TensorDataset(ids, start, end)


def main():
    train_loader = DataLoader(make(1600), batch_size=16, shuffle=True)
    dev = make(200).tensors
    model = SpanModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    num_epoch, logging_step = 2, 50
    for epoch in range(num_epoch):
        step = 1
        train_loss = train_acc = 0
        epoch_loss = 0
        for ids, start, end in train_loader:
            output = model(ids, start, end)
            start_index = output.start_logits.argmax(1)
            end_index = output.end_logits.argmax(1)
            train_acc += ((start_index == start) & (end_index == end)).float().mean()
            train_loss += output.loss.item()
            epoch_loss += output.loss.item()
            optimizer.zero_grad()
            output.loss.backward()
            optimizer.step()
            step += 1
            if step % logging_step == 0:
                print(
                    f"Epoch {epoch + 1} | Step {step} | "
                    f"loss = {train_loss / logging_step:.3f}, acc = {train_acc / logging_step:.3f}"
                )
                train_loss = train_acc = 0
        print(f"Epoch {epoch + 1} mean loss {epoch_loss / len(train_loader):.4f}")
    with torch.no_grad():
        out = model(dev[0])
    right = (out.start_logits.argmax(1) == dev[1]) & (out.end_logits.argmax(1) == dev[2])
    print("dev", right.float().mean().item())


if __name__ == "__main__":
    main()
