import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TinyGPT(nn.Module):
    def __init__(self, vocab=12, dim=32, length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.zeros(1, length, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, idx, targets):
        x = self.block(self.tok(idx) + self.pos, src_mask=self.mask)
        logits = self.head(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


class Trainer:
    def __init__(self, model, loader, use_amp=True, grad_norm_clip=1.0, max_epochs=6):
        self.model = model
        self.loader = loader
        self.use_amp = use_amp
        self.grad_norm_clip = grad_norm_clip
        self.max_epochs = max_epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, enabled=use_amp)

    def _run_batch(self, source, targets):
        with torch.amp.autocast("cpu", dtype=torch.bfloat16, enabled=self.use_amp):
            _, loss = self.model(source, targets)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.grad_norm_clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    def train(self):
        for epoch in range(self.max_epochs):
            losses = [self._run_batch(s, t) for s, t in self.loader]
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")


def text(n, length=16, vocab=12):
    start = torch.randint(0, vocab, (n, 1))
    step = torch.randint(1, 4, (n, 1))
    seq = (start + step * torch.arange(length + 1)) % vocab
    return TensorDataset(seq[:, :-1], seq[:, 1:])


if __name__ == "__main__":
    trainer = Trainer(TinyGPT(), DataLoader(text(960), batch_size=32, shuffle=True))
    trainer.train()
