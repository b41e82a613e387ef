import torch
import torch.nn as nn
import torch.nn.functional as F


class PlusSAINTModule(nn.Module):
    def __init__(self, n_exercises, n_dims=32, seq_len=24):
        super().__init__()
        self.seq_len = seq_len
        self.exercise_embed = nn.Embedding(n_exercises, n_dims)
        self.response_embed = nn.Embedding(3, n_dims)
        self.position_embed = nn.Embedding(seq_len, n_dims)
        self.encoder_layer = nn.MultiheadAttention(n_dims, 4, batch_first=True)
        self.decoder_self = nn.MultiheadAttention(n_dims, 4, batch_first=True)
        self.decoder_cross = nn.MultiheadAttention(n_dims, 4, batch_first=True)
        self.norm = nn.ModuleList([nn.LayerNorm(n_dims) for _ in range(3)])
        self.ffn = nn.Sequential(nn.Linear(n_dims, 64), nn.ReLU(), nn.Linear(64, 1))
        self.register_buffer("mask", torch.triu(torch.ones(seq_len, seq_len), diagonal=1).bool())

    def forward(self, exercises, responses):
        position = self.position_embed(torch.arange(self.seq_len))
        enc = self.exercise_embed(exercises) + position
        enc = self.norm[0](enc + self.encoder_layer(enc, enc, enc, attn_mask=self.mask)[0])
        dec = self.response_embed(responses) + enc
        dec = self.norm[1](dec + self.decoder_self(dec, dec, dec, attn_mask=self.mask)[0])
        out = self.norm[2](dec + self.decoder_cross(dec, enc, enc, attn_mask=self.mask)[0])
        return self.ffn(out).squeeze(-1)


def decoder_input(answers):
    return answers


def make_students(n, n_exercises=40, seq_len=24):
    generator = torch.Generator().manual_seed(7)
    difficulty = 1.5 * torch.randn(n_exercises, generator=generator)
    ability = 2.0 * torch.randn(n, 1)
    exercises = torch.randint(n_exercises, (n, seq_len))
    chance = torch.sigmoid(2.0 * (ability - difficulty[exercises]))
    return exercises, torch.bernoulli(chance).long()


def evaluate(model, exercises, answers):
    with torch.no_grad():
        out = model(exercises, decoder_input(answers))
        accuracy = ((out > 0) == answers.bool()).float().mean().item()
        unanswered = answers.clone()
        unanswered[:, -1] = 0
        last = model(exercises, decoder_input(unanswered))[:, -1]
        next_accuracy = ((last > 0) == answers[:, -1].bool()).float().mean().item()
    return accuracy, next_accuracy


def main():
    torch.manual_seed(0)
    train, val = make_students(1200), make_students(400)
    model = PlusSAINTModule(40)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 13):
        for rows in torch.randperm(len(train[0])).split(128):
            exercises, answers = train[0][rows], train[1][rows]
            out = model(exercises, decoder_input(answers))
            loss = F.binary_cross_entropy_with_logits(out, answers.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            accuracy, next_accuracy = evaluate(model, *val)
            print(
                f"epoch {epoch:2d}: loss {loss.item():.4f}  val accuracy {accuracy:.4f}"
                f"  accuracy on a question not yet answered {next_accuracy:.4f}"
            )


if __name__ == "__main__":
    main()
