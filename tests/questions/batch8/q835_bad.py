import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        for param in self.base.parameters():
            param.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + x @ self.lora_a.t() @ self.lora_b.t()


class LoRAConverter:
    def __init__(self, targets, rank=4):
        self.targets, self.rank = targets, rank

    def convert(self, model):
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if not isinstance(child, nn.Linear):
                    continue
                if name in self.targets:
                    setattr(module, name, LoRALinear(child, self.rank))
                else:
                    child.requires_grad_(False)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim)
        self.w1, self.w2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.w2(F.silu(self.w1(self.norm(x))))


class Decoder(nn.Module):
    def __init__(self, vocab=40, dim=32):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.Sequential(Block(dim), Block(dim))
        self.norm = nn.RMSNorm(dim)
        self.output = nn.Linear(dim, vocab)

    def forward(self, tokens):
        return self.output(self.norm(self.layers(self.tok_embeddings(tokens))))


def fit(model, table, steps):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    for _ in range(steps):
        tokens = torch.randint(0, 40, (64,))
        loss = F.cross_entropy(model(tokens), table[tokens])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    pretraining, task = torch.randperm(40), torch.randperm(40)
    model = Decoder()
    print(f"pretraining: loss {fit(model, pretraining, 300):.4f}")
    LoRAConverter(["w1", "w2"]).convert(model)
    before = {name: param.detach().clone() for name, param in model.named_parameters() if "lora_" not in name}
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    adapters = sum(p.numel() for name, p in model.named_parameters() if "lora_" in name)
    print(f"{trained} parameters are trained, the adapters have {adapters}")
    print(f"fine-tuning: loss {fit(model, task, 300):.4f}")
    for name, param in model.named_parameters():
        if name in before and not torch.equal(param, before[name]):
            print(f"{name} has moved by {(param - before[name]).abs().max().item():.3f}")


if __name__ == "__main__":
    main()
