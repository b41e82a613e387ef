import torch
import torch.nn as nn
import torch.nn.functional as F

WORDS, LENGTH = 10, 12


class LanguageModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.width = width
        self.encoder = nn.Embedding(WORDS, width)
        self.position = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, 4, 96, dropout=0.0, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, 2)
        self.linear = nn.Linear(width, WORDS)

    def forward(self, src, src_mask=None):
        src = self.encoder(src) * self.width**0.5 + self.position.weight[: src.shape[1]]
        if src_mask is None:
            src_mask = causal_mask(src.shape[1])
        output = self.transformer_encoder(src, src_mask)
        return self.linear(output)


def causal_mask(n):
    return nn.Transformer.generate_square_subsequent_mask(n)


def make_text(n, chain, generator):
    words = [torch.randint(0, WORDS, (n,), generator=generator)]
    for _ in range(LENGTH):
        words.append(torch.multinomial(chain[words[-1]], 1, generator=generator).squeeze(1))
    return torch.stack(words, 1)


@torch.no_grad()
def surprise_of_what_it_writes(model, chain, generator):
    text = torch.randint(0, WORDS, (200, 1), generator=generator)
    for _ in range(LENGTH - 1):
        last = model(text)[:, -1].softmax(-1)
        text = torch.cat([text, torch.multinomial(last, 1, generator=generator)], 1)
    return -chain[text[:, :-1], text[:, 1:]].log().mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    chain = (2 * torch.randn(WORDS, WORDS, generator=generator)).softmax(1)
    model = LanguageModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(151):
        text = make_text(48, chain, generator)
        data, targets = text[:, :-1], text[:, 1:]
        output = model(data)
        loss = F.cross_entropy(output.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            true = -chain[data, targets].log().mean().item()
            print(
                f"step {step}: perplexity {loss.exp().item():.2f}  of the true source {2.718281828**true:.2f}"
            )
    print(f"surprise of its own text {surprise_of_what_it_writes(model, chain, generator):.2f}")


if __name__ == "__main__":
    main()
