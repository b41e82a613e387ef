import torch
import torch.nn as nn


class ResponseSelection(nn.Module):
    def __init__(self, vocab=50, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.bilinear = nn.Linear(dim, dim, bias=False)

    def forward(self, context, response):
        c = self.encoder(self.embed(context))[1][0]
        r = self.encoder(self.embed(response))[1][0]
        return (self.bilinear(c) * r).sum(-1)


def dialogs(n, vocab=50):
    start = torch.randint(0, vocab, (n, 1))
    context = (start + 2 * torch.arange(6)) % vocab
    good = (start + 12 + 2 * torch.arange(4)) % vocab
    label = (torch.rand(n) < 0.5).float()
    response = torch.where(label.bool().unsqueeze(1), good, good[torch.randperm(n)])
    return context, response, label


class PostTraining:
    def __init__(self, hparams):
        self.hparams = hparams
        torch.manual_seed(hparams["seed"])
        self.model = ResponseSelection()
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=hparams["learning_rate"], momentum=0.9)

    def train(self):
        accumulate = self.hparams["virtual_batch_size"] // self.hparams["train_batch_size"]
        count, loss_sum, hits = 0, 0.0, 0.0
        for it in range(1, self.hparams["num_iters"] + 1):
            context, response, label = dialogs(self.hparams["train_batch_size"])
            logits = self.model(context, response)
            loss = self.criterion(logits, label)
            (loss / accumulate).backward()
            count += 1
            loss_sum += loss.item()
            hits += ((logits > 0).float() == label).float().mean().item()
            if count == accumulate:
                self.optimizer.step()
                nn.utils.clip_grad_norm_(self.model.parameters(), self.hparams["max_gradient_norm"])
                self.optimizer.zero_grad()
                count = 0
            if it % 100 == 0:
                print(f"[iter {it}] loss {loss_sum / 100:.4f}  acc {hits / 100:.3f}")
                loss_sum, hits = 0.0, 0.0


PostTraining(
    {
        "seed": 14,
        "learning_rate": 0.5,
        "train_batch_size": 16,
        "virtual_batch_size": 32,
        "max_gradient_norm": 1.0,
        "num_iters": 500,
    }
).train()
